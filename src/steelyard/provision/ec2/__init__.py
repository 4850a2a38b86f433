"""Rent machines of Amazon EC2, use them over SSH, and give all of them back.

`hosts.rent_hosts` is the whole of it: a file about what is rented (`rental`) is written before anything is
asked for; a `Fleet` asks, as an `Order` says; `release` gives back, also (`clean`) what a dead controller
left.
"""
