"""Values of metrics by their labels: replaced together, and dropped along with their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from prometheus_client import Counter, Gauge

__all__ = ["Values", "forget_tables", "label_sets", "replace_values"]

Values = Mapping[tuple[str, ...], float]
"""Maps label values to the metric's value."""


def replace_values(gauge: Gauge, values: Values) -> None:
    """Set the values of a gauge and remove those of all other labels."""
    for labels, value in values.items():
        gauge.labels(*labels).set(value)
    for labels in label_sets(gauge) - values.keys():
        gauge.remove(*labels)


def forget_tables(metrics: Iterable[Counter | Gauge], present: Collection[str]) -> None:
    """Drop the values of tables that no longer exist; ``table`` is each metric's first label."""
    for metric in metrics:
        for labels in label_sets(metric):
            if labels[0] not in present:
                metric.remove(*labels)


def label_sets(metric: Counter | Gauge) -> set[tuple[str, ...]]:
    """Return the label values for which a metric has values."""
    return {tuple(sample.labels.values()) for family in metric.collect() for sample in family.samples}
