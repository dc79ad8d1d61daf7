package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.lab.LineChart.Axis;
import org.junit.jupiter.api.Test;

class LineChartTest {

  @Test
  void valuesAreAtTheirPlaceOnTheAxis() {
    Axis linear = Axis.linear("ms", 0, 50, 100);
    assertEquals(60, linear.at(0, 60, 560));
    assertEquals(185, linear.at(25, 60, 560));
    assertEquals(560, linear.at(100, 60, 560));
    Axis logarithmic = Axis.logarithmic("%", 0.1, 1, 10);
    assertEquals(310, logarithmic.at(1, 60, 560), 1e-9);
    assertEquals(62, logarithmic.at(10, 360, 62), 1e-9);
  }

  @Test
  void valuesBeyondTheAxisAreAtItsEnd() {
    Axis axis = Axis.linear("ms", 0, 100);
    assertEquals(560, axis.at(101, 60, 560));
    assertEquals(60, axis.at(-1, 60, 560));
  }

  @Test
  void everyPointIsDrawn() {
    String svg =
        new LineChart("title", Axis.linear("s", 0, 1), Axis.linear("ms", 0, 0.5))
            .line("queue", new double[] {0, 1}, new double[] {0.5, 0})
            .svg("caption");
    assertTrue(svg.contains("points=\"60.0,62.0 560.0,360.0 \""), svg);
    for (String text : new String[] {">title<", ">s<", ">ms<", ">queue<", ">caption<", ">0.5<"}) {
      assertTrue(svg.contains(text), svg);
    }
  }
}
