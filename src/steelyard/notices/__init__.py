"""Tell somebody elsewhere what became of a run: by a webhook, ntfy, or a command of the user's."""
