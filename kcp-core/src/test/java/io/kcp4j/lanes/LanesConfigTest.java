package io.kcp4j.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LanesConfigTest {

  private static final String LANE = "io.kcp4j.lanes.LaneConfig";
  private static final String LANES = "io.kcp4j.lanes.LanesConfig";

  static List<List<String>> orders() {
    return List.of(List.of(LANE, LANES), List.of(LANES, LANE));
  }

  @ParameterizedTest
  @MethodSource("orders")
  void defaultsDoNotDependOnTheOrderOfInitialization(List<String> order) throws Exception {
    URL classes = LanesConfig.class.getProtectionDomain().getCodeSource().getLocation();
    try (URLClassLoader fresh =
        new URLClassLoader(new URL[] {classes}, ClassLoader.getPlatformClassLoader())) {
      for (String name : order) {
        Class.forName(name, true, fresh);
      }
      Class<?> type = fresh.loadClass(LANES);
      Object ofLane =
          type.getMethod("lane", int.class).invoke(type.getField("DEFAULT").get(null), 0);
      assertEquals(fresh.loadClass(LANE).getField("DEFAULT").get(null), ofLane);
    }
  }
}
