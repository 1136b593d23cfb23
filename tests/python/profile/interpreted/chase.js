// Reads a buffer of 4 MiB and a list of at least 2 MiB in the heap.
const buffer = Buffer.alloc(4 << 20);
let head = null;
for (let i = 0; i < 1 << 15; i++) {
  head = { next: head, a: i, b: i, c: i, d: i, e: i };
}
let sum = 0;
for (let round = 0; round < 6; round++) {
  for (let p = head; p !== null; p = p.next) sum += p.a;
  for (let i = 0; i < buffer.length; i += 64) sum += buffer[i];
}
console.log(sum);
