"""Sphinx's settings. The pages are GitHub's Markdown and nothing else: MyST's own syntax is switched off."""

project = "Steelyard"
root_doc = "contents"
extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_disable_syntax = ["myst_role", "myst_block_break", "myst_line_comment", "myst_target"]
suppress_warnings = ["misc.highlighting_failure"]  # pieces of files, and pseudo-code
highlight_language = "text"
smartquotes = False
html_theme = "furo"
html_title = "Steelyard"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"
