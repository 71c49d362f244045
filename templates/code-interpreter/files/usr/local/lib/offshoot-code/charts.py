"""
Adds representations to results: the data of a pandas table, the content of a simple Matplotlib chart, and lists and
dictionaries as JSON.
"""

import json

# Cells of a table whose data is worth sending beside its HTML.
MAX_CELLS = 10_000
# Items of a list or dictionary that is also given as JSON.
MAX_ITEMS = 10_000
# Points of a chart.
MAX_POINTS = 10_000


def register(display_formatter):
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class DataFormatter(BaseFormatter):
        format_type = Unicode("offshoot/data")
        print_method = ObjectName("_offshoot_data_")
        _return_type = dict

    class ChartFormatter(BaseFormatter):
        format_type = Unicode("offshoot/chart")
        print_method = ObjectName("_offshoot_chart_")
        _return_type = dict

    data = DataFormatter(parent=display_formatter)
    data.for_type_by_name("pandas.core.frame", "DataFrame", quietly(table_data))
    chart = ChartFormatter(parent=display_formatter)
    chart.for_type_by_name("matplotlib.figure", "Figure", quietly(figure_chart))
    for kind in (list, dict):
        display_formatter.formatters["application/json"].for_type(kind, quietly(plain_json))
    display_formatter.formatters = {
        **display_formatter.formatters,
        "offshoot/data": data,
        "offshoot/chart": chart,
    }


def quietly(represent):
    """An addition must never break or delay the result itself."""

    def guarded(value):
        try:
            return represent(value)
        except Exception:
            return None

    return guarded


def plain_json(value):
    """@throws TypeError, ValueError for a value that JSON does not have"""
    if len(value) > MAX_ITEMS:
        return None
    return json.loads(json.dumps(value, default=lambda item: item.tolist(), allow_nan=False))


def table_data(frame):
    """Column name to values; dates as ISO 8601, missing values as null."""
    if frame.size > MAX_CELLS or not frame.columns.is_unique:
        return None
    return {
        str(name): json.loads(frame[name].reset_index(drop=True).to_json(orient="values", date_format="iso"))
        for name in frame.columns
    }


def figure_chart(figure):
    charts = [chart for chart in map(axes_chart, figure.axes) if chart is not None]
    if not charts:
        return None
    if len(charts) == 1:
        return charts[0]
    return {"type": "superchart", "title": title_of(figure), "elements": charts}


def title_of(figure):
    return figure._suptitle.get_text() or None if figure._suptitle else None


def axes_chart(axes):
    """A chart of the first kind of element that the axes have; `None` for empty axes."""
    from matplotlib.container import BarContainer
    from matplotlib.patches import PathPatch, Wedge

    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    if wedges:
        return {"type": "pie", "title": axes.get_title() or None, "elements": pie_elements(axes, wedges)}
    if axes.lines and axes.patches and all(isinstance(patch, PathPatch) for patch in axes.patches):
        return {"type": "box_and_whisker", **labels_of(axes), "elements": box_elements(axes)}
    bars = [container for container in axes.containers if isinstance(container, BarContainer)]
    if bars:
        return {"type": "bar", **labels_of(axes), "elements": bar_elements(axes, bars)}
    if axes.lines:
        elements = [points(line.get_label(), line.get_xdata(orig=True), line.get_ydata(orig=True)) for line in axes.lines]
        return {"type": "line", **labels_of(axes), **scales_of(axes), "elements": elements}
    if axes.collections:
        elements = []
        for collection in axes.collections:
            offsets = collection.get_offsets()
            elements.append(points(collection.get_label(), offsets[:, 0], offsets[:, 1]))
        return {"type": "scatter", **labels_of(axes), **scales_of(axes), "elements": elements}
    if axes._children:
        return {"type": "unknown", "title": axes.get_title() or None, "elements": []}
    return None


def labels_of(axes):
    """Empty texts are null."""
    x, y = axes.get_xlabel(), axes.get_ylabel()
    return {
        "title": axes.get_title() or None,
        "x_label": x or None,
        "y_label": y or None,
        "x_unit": unit_of(x),
        "y_unit": unit_of(y),
    }


def unit_of(label):
    """`Speed (km/h)` has the unit `km/h`."""
    begin, end = label.rfind("("), label.rfind(")")
    return label[begin + 1 : end] if 0 <= begin < end else None


def scales_of(axes):
    scales = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        scales[f"{name}_scale"] = scale_of(axis)
        scales[f"{name}_ticks"] = [plain(tick) for tick in axis.get_ticklocs()]
        scales[f"{name}_tick_labels"] = [label.get_text() for label in axis.get_ticklabels()]
    return scales


def scale_of(axis):
    from matplotlib.category import StrCategoryConverter
    from matplotlib.dates import DateConverter, _SwitchableDateConverter

    if isinstance(axis.converter, (DateConverter, _SwitchableDateConverter)):
        return "datetime"
    return "categorical" if isinstance(axis.converter, StrCategoryConverter) else axis.get_scale()


def points(label, xs, ys):
    if len(xs) > MAX_POINTS:
        raise ValueError("too many points")
    return {"label": str(label), "points": [[plain(x), plain(y)] for x, y in zip(xs, ys)]}


def plain(value):
    """A number, or text. JSON has no NaN."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "item"):
        value = value.item()
        if hasattr(value, "isoformat"):
            return value.isoformat()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value if isinstance(value, (int, float, str)) else str(value)


def bar_elements(axes, containers):
    elements = []
    for container in containers:
        group = group_of(container.get_label())
        rectangles = container.patches
        is_vertical = container.orientation != "horizontal"
        axis = axes.xaxis if is_vertical else axes.yaxis
        ticks, names = ticks_of(axis)
        for rectangle in rectangles[:MAX_POINTS]:
            center = (
                rectangle.get_x() + rectangle.get_width() / 2
                if is_vertical
                else rectangle.get_y() + rectangle.get_height() / 2
            )
            name = name_at(center, ticks, names)
            value = rectangle.get_height() if is_vertical else rectangle.get_width()
            elements.append({"label": name or str(plain(center)), "group": group, "value": plain(value)})
    return elements


def group_of(label):
    """Matplotlib names containers without a label `_container0` and so on."""
    return f"Group {label[10:]}" if label.startswith("_container") else str(label)


def ticks_of(axis):
    return list(axis.get_ticklocs()), [label.get_text() for label in axis.get_ticklabels()]


def name_at(position, ticks, names):
    """The label of the tick at a position; empty if there is none."""
    nearest = min(range(len(ticks)), key=lambda index: abs(ticks[index] - position), default=None)
    return names[nearest] if nearest is not None and abs(ticks[nearest] - position) < 0.5 else ""


def box_elements(axes):
    """
    Boxes are patches; medians, whiskers and outliers are lines. `across` is the axis of the boxes' names, and `along`
    that of the values.
    """
    corners = [patch.get_path().vertices for patch in axes.patches]
    lines = [(line.get_linestyle() == "None", line.get_xdata(), line.get_ydata()) for line in axes.lines]
    is_vertical = any(is_median(xs, ys, points) for points in corners for _, xs, ys in lines)
    ticks, names = ticks_of(axes.xaxis if is_vertical else axes.yaxis)
    elements = []
    for points in corners:
        across, along = (points[:, 0], points[:, 1]) if is_vertical else (points[:, 1], points[:, 0])
        left, right, low, high = min(across), max(across), min(along), max(along)
        box = {
            "label": name_at((left + right) / 2, ticks, names),
            "min": low,
            "first_quartile": low,
            "median": low,
            "third_quartile": high,
            "max": high,
            "outliers": [],
        }
        for is_outliers, xs, ys in lines:
            sides, values = (xs, ys) if is_vertical else (ys, xs)
            if len(sides) == 0 or not left <= min(sides) <= max(sides) <= right:
                continue
            first, last = min(values), max(values)
            if is_outliers:
                box["outliers"].extend(plain(value) for value in values)
            elif min(sides) == left and max(sides) == right and first == last:
                box["median"] = first
            elif min(sides) == max(sides) and last == low:
                box["min"] = first
            elif min(sides) == max(sides) and first == high:
                box["max"] = last
        elements.append({name: value if isinstance(value, (str, list)) else plain(value) for name, value in box.items()})
    return elements


def is_median(xs, ys, corners):
    """Whether a line crosses a box from its left side to its right side."""
    # A whisker without length is as wide as a box without height.
    if len(xs) != 2 or ys[0] != ys[1] or xs[0] == xs[1]:
        return False
    return min(xs) == min(corners[:, 0]) and max(xs) == max(corners[:, 0]) and min(corners[:, 1]) <= ys[0] <= max(corners[:, 1])


def pie_elements(axes, wedges):
    names = [wedge.get_label() for wedge in wedges]
    return [
        {"label": str(name), "angle": round(abs(wedge.theta2 - wedge.theta1), 4), "radius": wedge.r}
        for name, wedge in zip(names, wedges)
    ]
