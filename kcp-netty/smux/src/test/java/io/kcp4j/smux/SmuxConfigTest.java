package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

class SmuxConfigTest {

  @Test
  void defaultsAreThoseOfGoAndVersionTwo() {
    SmuxConfig config = SmuxConfig.DEFAULT;
    assertEquals(2, config.version());
    assertEquals(32_768, config.maxFrameSize());
    assertEquals(4_194_304, config.maxReceiveBuffer());
    assertEquals(65_536, config.maxStreamBuffer());
    assertEquals(4_194_304, config.peerReceiveBuffer());
    assertEquals(10_000, config.keepAliveMs());
    assertEquals(30_000, config.keepAliveTimeoutMs());
    assertEquals(1024, config.maxStreams());
  }

  @Test
  void settingsOutOfRangeAreRefusedWithTheirName() {
    refused("version", builder -> builder.version(0));
    refused("version", builder -> builder.version(3));
    refused("maxFrameSize", builder -> builder.maxFrameSize(0));
    refused("maxFrameSize", builder -> builder.maxFrameSize(65_536));
    refused("maxReceiveBuffer", builder -> builder.maxReceiveBuffer(0));
    refused("maxStreamBuffer", builder -> builder.maxStreamBuffer(0));
    refused("maxStreamBuffer", builder -> builder.maxReceiveBuffer(1000).maxStreamBuffer(1001));
    refused("peerReceiveBuffer", builder -> builder.peerReceiveBuffer(0));
    refused("keepAliveMs", builder -> builder.keepAliveMs(-1));
    refused("keepAliveTimeoutMs", builder -> builder.keepAliveTimeoutMs(9_999));
    refused("maxStreams", builder -> builder.maxStreams(0));
    refused("maxNewStreamsPerSecond", builder -> builder.maxNewStreamsPerSecond(0));
    refused("stalledStreamMs", builder -> builder.stalledStreamMs(0));
    refused("closeTimeoutMs", builder -> builder.closeTimeoutMs(0));
  }

  private static void refused(String name, UnaryOperator<SmuxConfig.Builder> setting) {
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class, () -> setting.apply(SmuxConfig.builder()).build());
    assertTrue(e.getMessage().startsWith(name + ": "), e.getMessage());
  }

  @Test
  void builderCopiesEverySetting() {
    SmuxConfig config =
        SmuxConfig.builder()
            .version(1)
            .maxFrameSize(1)
            .maxReceiveBuffer(3)
            .maxStreamBuffer(2)
            .peerReceiveBuffer(4)
            .keepAliveMs(5)
            .keepAliveTimeoutMs(6)
            .maxStreams(7)
            .maxNewStreamsPerSecond(8)
            .stalledStreamMs(9)
            .closeTimeoutMs(10)
            .build();
    SmuxConfig copy = config.toBuilder().build();
    List<Integer> settings =
        List.of(
            copy.version(),
            copy.maxFrameSize(),
            copy.maxStreamBuffer(),
            copy.maxReceiveBuffer(),
            copy.peerReceiveBuffer(),
            copy.keepAliveMs(),
            copy.keepAliveTimeoutMs(),
            copy.maxStreams(),
            copy.maxNewStreamsPerSecond(),
            copy.stalledStreamMs(),
            copy.closeTimeoutMs());
    assertEquals(List.of(1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), settings);
  }
}
