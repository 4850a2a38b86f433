"""`make docs`: all pages of the repository as a static site, built by Sphinx and MyST without the network."""
