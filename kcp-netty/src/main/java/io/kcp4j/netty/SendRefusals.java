package io.kcp4j.netty;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.io.IOException;
import java.net.PortUnreachableException;

/**
 * The datagrams that the system has refused to send from a socket, by error. They count as sent and
 * lost. Used by one thread.
 */
final class SendRefusals {

  /** The errors that have a counter, by the text that C libraries have for them. */
  private enum Refusal {
    EPERM("not permitted", KcpCounter.SEND_REFUSED_EPERM),
    ENETUNREACH("etwork is unreachable", KcpCounter.SEND_REFUSED_ENETUNREACH),
    EHOSTUNREACH("o route to host", KcpCounter.SEND_REFUSED_EHOSTUNREACH),
    EADDRNOTAVAIL("assign requested address", KcpCounter.SEND_REFUSED_EADDRNOTAVAIL);

    private final String text;
    private final KcpCounter counter;

    Refusal(String text, KcpCounter counter) {
      this.text = text;
      this.counter = counter;
    }

    /** The error with a message, or null for another one. */
    static Refusal of(String message) {
      for (Refusal refusal : values()) {
        if (message.contains(refusal.text)) {
          return refusal;
        }
      }
      return null;
    }
  }

  private final KcpCounters counters;
  private String last;

  SendRefusals(KcpCounters counters) {
    this.counters = counters;
  }

  /** Counts a failure that the socket reports; returns false if it is no refusal, but an answer. */
  boolean add(IOException failure) {
    if (failure instanceof PortUnreachableException) {
      return false;
    }
    String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
    Refusal refusal = Refusal.of(message);
    counters.add(refusal == null ? KcpCounter.SEND_REFUSED_OTHER : refusal.counter, 1);
    last = refusal == null ? message : refusal.name();
    return true;
  }

  /** The error of the last one, or null. */
  String last() {
    return last;
  }
}
