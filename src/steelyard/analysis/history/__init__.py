"""Many runs of one experiment over time: what they measured, where it changed, what people decided."""
