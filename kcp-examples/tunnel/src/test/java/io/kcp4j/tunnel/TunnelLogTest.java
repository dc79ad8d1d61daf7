package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.internal.LogLimit;
import io.kcp4j.tunnel.TunnelLog.Kind;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TunnelLogTest {

  private static final long INTERVAL_NS = TimeUnit.MICROSECONDS.toNanos(LogLimit.INTERVAL_US);

  private final StringWriter text = new StringWriter();
  private long nowNs;

  private TunnelLog log(boolean isQuiet) {
    return new TunnelLog(new PrintWriter(text), isQuiet, () -> nowNs);
  }

  /** The lines without their times. */
  private List<String> lines() {
    return text.toString().lines().map(line -> line.replaceFirst("\\S+ \\S+ ", "")).toList();
  }

  @Test
  void oneLineOfAKindIsLoggedInTenSecondsWithTheNumberOfTheOthers() {
    TunnelLog log = log(false);
    for (int i = 0; i < 1000; i++) {
      log.limited(Kind.NO_SESSION, "no session for %d", i);
    }
    log.limited(Kind.NO_TARGET, "no target");
    nowNs = INTERVAL_NS - 1000;
    log.limited(Kind.NO_SESSION, "no session for %s", "another");
    assertEquals(List.of("no session for 0", "no target"), lines());
    nowNs = INTERVAL_NS;
    log.limited(Kind.NO_SESSION, "no session for %s", "100%");
    log.limited(Kind.NO_TARGET, "no target");
    assertEquals(
        List.of("no session for 100% (1000 more were not logged)", "no target"),
        lines().subList(2, 4));
  }

  @Test
  void sessionsAreAllLoggedUnlessQuiet() {
    for (boolean isQuiet : new boolean[] {false, true}) {
      text.getBuffer().setLength(0);
      TunnelLog log = log(isQuiet);
      for (int i = 0; i < 3; i++) {
        log.detailOrLimited(Kind.SESSION_BEGUN, "session: %d", i);
        log.detailOrLimited(Kind.SESSION_ENDED, "session ended: %d", i);
      }
      assertEquals(isQuiet ? 2 : 6, lines().size());
      assertTrue(lines().contains("session ended: 0"), text.toString());
    }
  }
}
