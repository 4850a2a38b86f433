"""Who may see what is served: whoever may start a run has a shell, so everybody else is kept out."""
