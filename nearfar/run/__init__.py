"""Running a program under a plan, and the memories that its pages are in."""
