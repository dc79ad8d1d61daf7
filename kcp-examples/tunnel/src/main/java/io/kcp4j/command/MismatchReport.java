package io.kcp4j.command;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.util.ArrayList;
import java.util.List;

/** Describes counters that indicate peers with different options. */
public final class MismatchReport {

  private MismatchReport() {}

  /** One line for each kind of mismatch that was counted. */
  public static List<String> lines(KcpCounters counters) {
    long plaintext = counters.get(KcpCounter.PLAINTEXT_RECEIVED);
    long undecrypted = counters.get(KcpCounter.DECRYPT_FAILED) - plaintext;
    List<String> lines = new ArrayList<>();
    add(lines, undecrypted, "packets that no key decrypts: a peer has another --key or --crypt");
    add(lines, plaintext, "unencrypted packets: a peer has no --key");
    add(lines, counters.get(KcpCounter.NOT_KCP), "packets that are not KCP: a peer has a --key");
    add(
        lines,
        counters.get(KcpCounter.FRAGMENT_IN_STREAM),
        "fragments in streams: a peer has --message");
    add(
        lines,
        counters.get(KcpCounter.DELIVERY_MISMATCHED),
        "sessions of which one side has --message and the other has not");
    return lines;
  }

  private static void add(List<String> lines, long count, String text) {
    if (count > 0) {
      lines.add(count + " " + text);
    }
  }
}
