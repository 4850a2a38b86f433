"""What surrounds a program on its host: containers, by the program that makes them. A file each."""
