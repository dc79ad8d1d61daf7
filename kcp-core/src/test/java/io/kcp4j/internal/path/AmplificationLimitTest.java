package io.kcp4j.internal.path;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpCounters;
import io.kcp4j.internal.wire.Segment;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AmplificationLimitTest {

  private static final int OVERHEAD_BYTES = 20;

  /**
   * The answer, its ACK and its packet fit twice, so that they can be repeated if they are lost.
   */
  @ParameterizedTest
  @CsvSource({"1000, 0", "1000, 1", "137, 0", "137, 1"})
  void firstSegmentTakesTheAnswerOnlyIfThatFitsTwice(int answerBytes, int missingBytes) {
    int datagramBytes = OVERHEAD_BYTES + 2 * Segment.HEADER_BYTES + answerBytes;
    long allowanceBytes = 2L * datagramBytes - missingBytes;
    AmplificationLimit limit = new AmplificationLimit(() -> allowanceBytes, new KcpCounters());
    int expected = missingBytes == 0 ? answerBytes : AmplificationLimit.SMALL_PAYLOAD_BYTES;
    assertEquals(expected, limit.firstPayloadBytes(answerBytes, OVERHEAD_BYTES));
  }
}
