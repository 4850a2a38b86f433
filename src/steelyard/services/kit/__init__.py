"""What several services share: servers, ports, accounts, certificates, data directories, meters."""
