"""Charts as Vega-Lite specifications; drawn by a browser in the HTML report, by vl-convert in Markdown.

Names and texts from the record reach a chart as data, titles and labels only, never inside an expression.
"""
