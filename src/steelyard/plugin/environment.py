"""What an environment is made of: it describes how a command is started inside."""

from __future__ import annotations

from steelyard.environments.base import CARRIED, Environment
from steelyard.model.command import Command
from steelyard.model.control_groups import PERIOD
from steelyard.model.environment import Inside
from steelyard.model.tool import Tool

__all__ = ["CARRIED", "PERIOD", "Command", "Environment", "Inside", "Tool"]
