"""What is deployed before measuring, one file each."""
