package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.function.BiFunction;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The settings, their defaults and their ranges. */
class KcpConfigTest {

  private interface Setter extends BiFunction<KcpConfig.Builder, Integer, KcpConfig.Builder> {}

  private static Arguments range(
      String name, int min, int max, Setter setter, ToIntFunction<KcpConfig> getter) {
    return Arguments.of(name, min, max, setter, getter);
  }

  static Stream<Arguments> ranges() {
    int any = Integer.MAX_VALUE;
    return Stream.of(
        range("sendWindow", 1, 65535, KcpConfig.Builder::sendWindow, KcpConfig::sendWindow),
        range(
            "receiveWindow", 1, 65535, KcpConfig.Builder::receiveWindow, KcpConfig::receiveWindow),
        range("mtuBytes", 50, 1500, KcpConfig.Builder::mtuBytes, KcpConfig::mtuBytes),
        range("intervalMs", 1, 5000, KcpConfig.Builder::intervalMs, KcpConfig::intervalMs),
        range(
            "fastRetransmit", 0, any, KcpConfig.Builder::fastRetransmit, KcpConfig::fastRetransmit),
        range("userTimeoutMs", 0, any, KcpConfig.Builder::userTimeoutMs, KcpConfig::userTimeoutMs),
        range(
            "zeroWindowTimeoutMs",
            0,
            any,
            KcpConfig.Builder::zeroWindowTimeoutMs,
            KcpConfig::zeroWindowTimeoutMs),
        range("maxFragments", 1, 255, KcpConfig.Builder::maxFragments, KcpConfig::maxFragments),
        range("rateLimit", 0, any, KcpConfig.Builder::rateLimit, KcpConfig::rateLimit),
        range("maxBurst", 0, 65535, KcpConfig.Builder::maxBurst, KcpConfig::maxBurst),
        range("idleTimeoutMs", 0, any, KcpConfig.Builder::idleTimeoutMs, KcpConfig::idleTimeoutMs),
        range(
            "keepAliveIntervalMs",
            0,
            any,
            KcpConfig.Builder::keepAliveIntervalMs,
            KcpConfig::keepAliveIntervalMs),
        range(
            "keepAliveProbeIntervalMs",
            1,
            any,
            KcpConfig.Builder::keepAliveProbeIntervalMs,
            KcpConfig::keepAliveProbeIntervalMs),
        range(
            "keepAliveProbes",
            1,
            any,
            KcpConfig.Builder::keepAliveProbes,
            KcpConfig::keepAliveProbes),
        range("lingerMs", 0, any, KcpConfig.Builder::lingerMs, KcpConfig::lingerMs),
        range("lingerMaxMs", 1, any, KcpConfig.Builder::lingerMaxMs, KcpConfig::lingerMaxMs),
        range("datagramQueue", 0, any, KcpConfig.Builder::datagramQueue, KcpConfig::datagramQueue));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("ranges")
  void rangeIncludesItsEndsAndNothingBeyond(
      String name, int min, int max, Setter setter, ToIntFunction<KcpConfig> getter) {
    for (int inside : new int[] {min, max}) {
      assertEquals(inside, getter.applyAsInt(setter.apply(KcpConfig.builder(), inside).build()));
    }
    assertRefused(name, min - 1, min, max, setter);
    if (max < Integer.MAX_VALUE) {
      assertRefused(name, max + 1, min, max, setter);
    }
  }

  private static void assertRefused(String name, int value, int min, int max, Setter setter) {
    KcpConfig.Builder builder = KcpConfig.builder();
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> setter.apply(builder, value));
    assertEquals(
        name + ": " + value + " (expected: " + min + " to " + max + ")", refused.getMessage());
  }

  @Test
  void sendQueueFollowsTheSendWindowUpTo1024SegmentsUnlessItIsSet() {
    KcpConfig.Builder builder = KcpConfig.builder().sendWindow(77);
    assertEquals(77, builder.build().sendQueue());
    assertEquals(1024, builder.sendWindow(1024).build().sendQueue());
    assertEquals(1024, builder.sendWindow(1025).build().sendQueue());
    assertEquals(5, builder.sendQueue(5).build().sendQueue());
    assertThrows(IllegalArgumentException.class, () -> builder.sendQueue(-1));
    assertThrows(IllegalArgumentException.class, () -> builder.sendQueue(65536));
  }

  @Test
  void defaultsAreFast2AndBbrInStreamMode() {
    KcpConfig config = KcpConfig.DEFAULT;
    assertEquals(Delivery.STREAM, config.delivery());
    assertEquals(8192, config.sendWindow());
    assertEquals(8192, config.receiveWindow());
    assertEquals(1200, config.mtuBytes());
    assertEquals(1176, config.mssBytes());
    assertTrue(config.noDelay());
    assertEquals(20, config.intervalMs());
    assertEquals(2, config.fastRetransmit());
    assertEquals(CongestionControl.BBR, config.congestionControl());
    assertEquals(30_000, config.userTimeoutMs());
    assertEquals(60_000, config.zeroWindowTimeoutMs());
  }

  @Test
  void builderStartsFromTheSettingsThatItCameFrom() throws ReflectiveOperationException {
    KcpConfig config =
        KcpConfig.builder()
            .delivery(Delivery.MESSAGE)
            .sendWindow(1)
            .receiveWindow(2)
            .mtuBytes(503)
            .mode(KcpMode.NORMAL)
            .lossDetection(LossDetection.FAST_RETRANSMIT)
            .fastRetransmit(4)
            .congestionControl(CongestionControl.RENO)
            .ackNoDelay(true)
            .userTimeoutMs(7)
            .zeroWindowTimeoutMs(8)
            .sendQueue(9)
            .maxFragments(10)
            .rateLimit(11)
            .maxBurst(12)
            .idleTimeoutMs(13)
            .keepAliveIntervalMs(14)
            .keepAliveProbeIntervalMs(15)
            .keepAliveProbes(16)
            .lingerMs(17)
            .lingerMaxMs(18)
            .datagramQueue(19)
            .extension(false)
            .build();
    KcpConfig copy = config.toBuilder().build();
    assertNotSame(config, copy);
    for (Method getter : KcpConfig.class.getDeclaredMethods()) {
      boolean isSetting =
          Modifier.isPublic(getter.getModifiers())
              && !Modifier.isStatic(getter.getModifiers())
              && getter.getParameterCount() == 0
              && !getter.getName().equals("toBuilder");
      if (isSetting) {
        Object value = getter.invoke(config);
        assertNotEquals(getter.invoke(KcpConfig.DEFAULT), value, getter.getName());
        assertEquals(value, getter.invoke(copy), getter.getName());
      }
    }
  }
}
