package main

type node struct {
	next *node
	rest [7]int64
}

// Builds a list of 2 MiB in the heap and walks it.
func main() {
	var head *node
	for i := 0; i < 1<<15; i++ {
		head = &node{next: head}
	}
	var sum int64
	for round := 0; round < 8; round++ {
		for p := head; p != nil; p = p.next {
			p.rest[0]++
			sum += p.rest[0]
		}
	}
	println(sum)
}
