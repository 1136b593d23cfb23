"""Ways to see a program's accesses: one file each, with what only it needs beside it."""
