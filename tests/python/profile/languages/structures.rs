use std::collections::{BTreeMap, HashMap};
struct Node {
    key: u64,
    next: usize,
    pad: [u64; 6],
}
fn build_table(n: u64) -> HashMap<u64, u64> {
    let mut table = HashMap::with_capacity(n as usize);
    let mut x = 88172645463325252u64;
    for i in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        table.insert(x, i);
    }
    table
}
fn build_tree(n: u64) -> BTreeMap<u64, u64> {
    let mut tree = BTreeMap::new();
    let mut x = 88172645463325252u64;
    for i in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        tree.insert(x, i);
    }
    tree
}
fn build_list(n: usize) -> Vec<Node> {
    (0..n)
        .map(|i| Node {
            key: i as u64,
            next: (i * 7919 + 13) % n,
            pad: [0; 6],
        })
        .collect()
}
fn main() {
    let n: u64 = std::env::args()
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(1_000_000);
    let table = build_table(n);
    let tree = build_tree(n / 4);
    let list = build_list(2 * n as usize);
    let mut boxes: Vec<Box<[u8; 200]>> = Vec::new();
    for i in 0..n / 8 {
        boxes.push(Box::new([i as u8; 200]));
    }
    let mut sum = 0u64;
    let mut at = 0usize;
    for _ in 0..2 * n {
        sum = sum.wrapping_add(list[at].key + list[at].pad[5]);
        at = list[at].next;
    }
    let mut x = 88172645463325252u64;
    for _ in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum = sum.wrapping_add(table[&x]);
        if let Some(v) = tree.get(&x) {
            sum += v;
        }
    }
    for b in &boxes {
        sum += b[100] as u64;
    }
    println!("{}", sum);
}
