"""Expressions in an experiment file: `where: files * outstanding <= 128`, and what stands in `${…}`.

Names and plain arithmetic, nothing else: no attribute, no index, no call but of a few functions of numbers,
no value that is large or slow to compute. An expression cannot do anything, so a stranger may write it.
"""

from __future__ import annotations

from steelyard.model.expression.error import ExpressionError
from steelyard.model.expression.evaluate import Names
from steelyard.model.expression.expression import Expression, Value
from steelyard.model.expression.parser import Quantity
from steelyard.model.expression.template import Template
from steelyard.model.expression.tree import PreparedTree, find_names, prepare, substitute

__all__ = [
    "Expression",
    "ExpressionError",
    "Names",
    "PreparedTree",
    "Quantity",
    "Template",
    "Value",
    "find_names",
    "prepare",
    "substitute",
]
