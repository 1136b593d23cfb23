/** Builds a list of at least 2 MiB in the heap and walks it. */
public class Chase {
  static class Node {
    Node next;
    long a, b, c, d, e, f;

    Node(Node next) {
      this.next = next;
    }
  }

  public static void main(String[] words) {
    Node head = null;
    for (int i = 0; i < 1 << 15; i++) head = new Node(head);
    long sum = 0;
    for (int round = 0; round < 6; round++) {
      for (Node p = head; p != null; p = p.next) sum += ++p.a;
    }
    System.out.println(sum);
  }
}
