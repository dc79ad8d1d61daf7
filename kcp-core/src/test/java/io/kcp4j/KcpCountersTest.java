package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link KcpCounters} and the names of {@link KcpCounter}. */
class KcpCountersTest {

  @Test
  void whatASessionCountsIsAddedToTheTotal() {
    KcpCounters total = new KcpCounters();
    KcpCounters one = new KcpCounters(total);
    KcpCounters other = new KcpCounters(total);
    one.add(KcpCounter.BYTES_IN, 5);
    other.add(KcpCounter.BYTES_IN, 7);
    assertEquals(5, one.get(KcpCounter.BYTES_IN));
    assertEquals(12, total.get(KcpCounter.BYTES_IN));
    assertEquals(0, total.get(KcpCounter.BYTES_OUT));
  }

  @Test
  void everyCounterOfASessionIsCounted() {
    KcpCounters total = new KcpCounters();
    KcpCounters session = new KcpCounters(total);
    for (KcpCounter counter : KcpCounter.values()) {
      if (counter.compareTo(KcpCounter.STATELESS_RESETS_OUT) < 0) {
        session.add(counter, counter.name().length());
      }
    }
    for (KcpCounter counter : KcpCounter.values()) {
      boolean isOfSessions = counter.compareTo(KcpCounter.STATELESS_RESETS_OUT) < 0;
      assertEquals(isOfSessions ? counter.name().length() : 0, session.get(counter));
      assertEquals(session.get(counter), total.get(counter));
    }
  }

  @Test
  void copyNoLongerChanges() {
    KcpCounters counters = new KcpCounters();
    counters.add(KcpCounter.BYTES_IN, 5);
    KcpCounters copy = counters.copy();
    counters.add(KcpCounter.BYTES_IN, 5);
    copy.add(KcpCounter.BYTES_OUT, 1);
    assertEquals(5, copy.get(KcpCounter.BYTES_IN));
    assertEquals(0, counters.get(KcpCounter.BYTES_OUT));
  }

  @Test
  void sumShowsWhatItsPartsCount() {
    KcpCounters first = new KcpCounters();
    KcpCounters second = new KcpCounters();
    KcpCounters sum = KcpCounters.sumOf(List.of(first, second));
    first.add(KcpCounter.BYTES_IN, 5);
    second.add(KcpCounter.BYTES_IN, 6);
    assertEquals(11, sum.get(KcpCounter.BYTES_IN));
    assertEquals(11, sum.copy().get(KcpCounter.BYTES_IN));
    assertEquals("[bytes.in=11]", sum.toString());
  }

  @Test
  void textShowsTheCountersThatAreNotZero() {
    KcpCounters counters = new KcpCounters();
    counters.add(KcpCounter.BYTES_IN, 5);
    counters.add(KcpCounter.DUPLICATES, 1);
    assertEquals("[bytes.in=5, segments.duplicates=1]", counters.toString());
  }

  @Test
  void metricNamesAreUnique() {
    KcpCounter[] counters = KcpCounter.values();
    assertEquals(
        counters.length, Arrays.stream(counters).map(KcpCounter::metricName).distinct().count());
  }
}
