package io.kcp4j.examples;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.util.ArrayList;
import java.util.List;

/** What counters tell of peers whose options are others. */
final class Mismatches {

  private Mismatches() {}

  /** A line for each kind of mismatch that was seen. */
  static List<String> lines(KcpCounters counters) {
    long unsealed = counters.get(KcpCounter.UNSEALED);
    long unopened = counters.get(KcpCounter.OPEN_FAILED) - unsealed;
    List<String> lines = new ArrayList<>();
    add(lines, unopened, "packets that no key opens: a peer has another --key or --crypt");
    add(lines, unsealed, "packets in plaintext: a peer has no --key");
    add(lines, counters.get(KcpCounter.NOT_KCP), "packets that are not KCP: a peer has a --key");
    add(
        lines,
        counters.get(KcpCounter.FRAGMENT_IN_STREAM),
        "fragments in streams: a peer has --message");
    return lines;
  }

  private static void add(List<String> lines, long count, String text) {
    if (count > 0) {
      lines.add(count + " " + text);
    }
  }
}
