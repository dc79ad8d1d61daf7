package io.kcp4j.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A chart of lines, as SVG. */
final class LineChart {

  // The layout, in pixels.

  private static final int WIDTH = 760;
  private static final int HEIGHT = 430;
  private static final int LEFT = 60;
  private static final int RIGHT = 560; // The legend is right of it.
  private static final int TOP = 62;
  private static final int BOTTOM = 360;
  private static final int MARGIN = 16;
  private static final int LEGEND_STEP = 20;
  private static final int LEGEND_LINE = 22;

  private static final List<String> COLORS =
      List.of("#0b3d91", "#b45309", "#2e9e5b", "#8e44ad", "#222222");

  /** An axis from the first to the last of its ticks: labelled values in ascending order. */
  static final class Axis {

    private final String label;
    private final double[] ticks;
    private final boolean isLogarithmic;

    private Axis(String label, double[] ticks, boolean isLogarithmic) {
      this.label = label;
      this.ticks = ticks;
      this.isLogarithmic = isLogarithmic;
    }

    static Axis linear(String label, double... ticks) {
      return new Axis(label, ticks, false);
    }

    /** Equal ratios take equal room; all values are positive. */
    static Axis logarithmic(String label, double... ticks) {
      return new Axis(label, ticks, true);
    }

    /** Where a value is between two pixels; values beyond the axis are at its end. */
    double at(double value, int from, int to) {
      double share = (scaled(value) - scaled(first())) / (scaled(last()) - scaled(first()));
      return from + Math.min(Math.max(share, 0), 1) * (to - from);
    }

    private double scaled(double value) {
      return isLogarithmic ? Math.log(value) : value;
    }

    private double first() {
      return ticks[0];
    }

    private double last() {
      return ticks[ticks.length - 1];
    }
  }

  private static final class Line {

    private final String name;
    private final double[] xs;
    private final double[] ys;

    Line(String name, double[] xs, double[] ys) {
      this.name = name;
      this.xs = xs;
      this.ys = ys;
    }
  }

  private final String title;
  private final Axis x;
  private final Axis y;
  private final List<Line> lines = new ArrayList<>();

  LineChart(String title, Axis x, Axis y) {
    this.title = title;
    this.x = x;
    this.y = y;
  }

  /** Adds a line through the points. */
  LineChart line(String name, double[] xs, double[] ys) {
    lines.add(new Line(name, xs, ys));
    return this;
  }

  /** Draws the chart, and the caption below it. */
  String svg(String caption) {
    StringBuilder svg =
        new StringBuilder(
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"
             font-family="sans-serif" font-size="12">
            <style>
            .title{font-size:15px;font-weight:bold}
            .caption{fill:#666;font-size:11px}
            .x{text-anchor:middle}
            .y{text-anchor:end}
            .grid{stroke:#e3e6ea}
            polyline{fill:none;stroke-width:1.7}
            </style>
            <rect width="100%%" height="100%%" fill="#fff"/>
            """
                .formatted(WIDTH, HEIGHT));
    text(svg, "title", MARGIN, 26, title);
    drawGrid(svg);
    for (int i = 0; i < lines.size(); i++) {
      drawLine(svg, lines.get(i), COLORS.get(i % COLORS.size()), TOP + 8 + i * LEGEND_STEP);
    }
    text(svg, "caption", MARGIN, HEIGHT - 14, caption);
    return svg.append("</svg>\n").toString();
  }

  private void drawGrid(StringBuilder svg) {
    for (double tick : x.ticks) {
      double at = x.at(tick, LEFT, RIGHT);
      gridLine(svg, decimal(at) + " " + TOP + "V" + BOTTOM);
      text(svg, "x", at, BOTTOM + 17, label(tick));
    }
    for (double tick : y.ticks) {
      double at = y.at(tick, BOTTOM, TOP);
      gridLine(svg, LEFT + " " + decimal(at) + "H" + RIGHT);
      text(svg, "y", LEFT - 7, at + 4, label(tick));
    }
    text(svg, "x", (LEFT + RIGHT) / 2.0, BOTTOM + 35, x.label);
    text(svg, "", MARGIN, TOP - 14, y.label);
  }

  private static void gridLine(StringBuilder svg, String path) {
    svg.append("<path class=\"grid\" d=\"M").append(path).append("\"/>\n");
  }

  private static String label(double tick) {
    return tick == Math.rint(tick) ? Long.toString(Math.round(tick)) : decimal(tick);
  }

  private static String decimal(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }

  private void drawLine(StringBuilder svg, Line line, String color, int legendY) {
    svg.append("<polyline stroke=\"").append(color).append("\" points=\"");
    for (int i = 0; i < line.xs.length; i++) {
      svg.append(decimal(x.at(line.xs[i], LEFT, RIGHT))).append(',');
      svg.append(decimal(y.at(line.ys[i], BOTTOM, TOP))).append(' ');
    }
    svg.append("\"/>\n");
    int legendX = RIGHT + 12;
    svg.append("<path stroke=\"").append(color).append("\" stroke-width=\"3\" d=\"M");
    svg.append(legendX + " " + legendY + "h" + LEGEND_LINE + "\"/>\n");
    text(svg, "", legendX + LEGEND_LINE + 6, legendY + 4, line.name);
  }

  private static void text(StringBuilder svg, String style, double x, double y, String text) {
    svg.append("<text class=\"").append(style).append("\" x=\"").append(decimal(x));
    svg.append("\" y=\"").append(decimal(y)).append("\">").append(text).append("</text>\n");
  }
}
