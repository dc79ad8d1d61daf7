package io.kcp4j.command;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.util.List;
import org.junit.jupiter.api.Test;

class MismatchReportTest {

  @Test
  void eachKindOfMismatchHasOneLine() {
    KcpCounters counters = new KcpCounters();
    assertEquals(List.of(), MismatchReport.lines(counters));
    counters.add(KcpCounter.DECRYPT_FAILED, 5);
    counters.add(KcpCounter.PLAINTEXT_RECEIVED, 2);
    counters.add(KcpCounter.NOT_KCP, 1);
    counters.add(KcpCounter.DELIVERY_MISMATCHED, 4);
    assertEquals(
        List.of(
            "3 packets that no key decrypts: a peer has another --key or --crypt",
            "2 unencrypted packets: a peer has no --key",
            "1 packets that are not KCP: a peer has a --key",
            "4 sessions of which one side has --message and the other has not"),
        MismatchReport.lines(counters));
  }
}
