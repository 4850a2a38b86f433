"""Where hosts come from; one small file per site."""
