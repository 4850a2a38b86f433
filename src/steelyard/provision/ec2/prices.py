"""What an hour of a machine costs, from AWS itself; where AWS does not say, nothing is said."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.model.keys.uses import Prices
from steelyard.provision.ec2.account import AwsAccount
from steelyard.provision.ec2.errors import CloudError
from steelyard.provision.ec2.startup import RentedMachine

_LINUX = "Linux/UNIX"
Price = Mapping[str, Any]
"""`per_hour`, `currency`, `source` and `date`, as environment.json has it."""


def find_configured(prices: Prices | None, machine: RentedMachine) -> Price | None:
    """What the site's options say."""
    if prices is None or machine.type not in prices.per_hour:
        return None
    return _price(prices.per_hour[machine.type], prices.currency, prices.source, prices.date)


def look_up_prices(account: AwsAccount, machines: Sequence[RentedMachine], *, spot: bool) -> dict[str, Price]:
    """By machine, as far as AWS tells: the spot price of the moment, or the list price."""
    prices: dict[tuple[str, str], Price | None] = {}
    for machine in machines:
        key = (machine.type, machine.zone if spot else machine.system)
        if key not in prices:
            prices[key] = _look_up_spot(account, machine) if spot else _look_up_list(account, machine)
    priced = ((one, prices[one.type, one.zone if spot else one.system]) for one in machines)
    return {machine.id: price for machine, price in priced if price}


def _look_up_spot(account: AwsAccount, machine: RentedMachine) -> Price | None:
    words: dict[str, Any] = {
        "InstanceTypes": [machine.type],
        "ProductDescriptions": [machine.system or _LINUX],
        "AvailabilityZone": machine.zone,
        "StartTime": time.time(),
        "MaxResults": 10,
    }
    try:
        history = account.ask("describe_spot_price_history", **words)["SpotPriceHistory"]
        here = [one["SpotPrice"] for one in history if one["AvailabilityZone"] == machine.zone]
        return _price(float(here[0]), "USD", f"spot price in {machine.zone}", _today())
    except (CloudError, LookupError, ValueError):
        return None


def _look_up_list(account: AwsAccount, machine: RentedMachine) -> Price | None:
    if machine.system != _LINUX:
        return None  # others cost more, by rules of their own
    wanted = {
        "instanceType": machine.type,
        "regionCode": account.resolve_region(),
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    }
    filters = [{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in wanted.items()]
    try:
        answer = account.ask("get_products", service="pricing", ServiceCode="AmazonEC2", Filters=filters)
        return _single_price([json.loads(text) for text in answer["PriceList"]])
    except (CloudError, LookupError, ValueError, TypeError, AttributeError):
        return None


def _single_price(products: Sequence[Mapping[str, Any]]) -> Price | None:
    """The price by the hour, where there is exactly one; None where the list is not clear about it."""
    offers = set()
    for product in products:
        for term in product["terms"]["OnDemand"].values():
            for dimension in term["priceDimensions"].values():
                ((currency, amount),) = dimension["pricePerUnit"].items()
                if dimension["unit"] == "Hrs" and float(amount) > 0:
                    offers.add((float(amount), currency, str(product["publicationDate"])[:10]))
    if len(offers) != 1:
        return None
    ((amount, currency, date),) = offers
    return _price(amount, currency, "AWS price list, on demand", date)


def _price(per_hour: float, currency: str, source: str, date: str) -> Price:
    return {"per_hour": per_hour, "currency": currency, "source": source, "date": date}


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
