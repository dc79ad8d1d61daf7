package io.kcp4j.internal.receive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link PendingAcks} alone: which segments get an ACK of their own. */
class PendingAcksTest {

  private final PendingAcks acks = new PendingAcks(MemoryAccount.of(MemoryBudget.unlimited()));
  private final List<String> written = new ArrayList<>();

  private void addBeyondGap(int sn, int ts) {
    assertTrue(acks.ensureRoom());
    acks.addBeyondGap(sn, ts);
  }

  private List<String> flush(int rcvNext) {
    return flush(rcvNext, false, 0);
  }

  private List<String> flush(int rcvNext, boolean isLossy, long nowUs) {
    written.clear();
    acks.flush(rcvNext, isLossy, nowUs, (ts, sn) -> written.add(sn + "@" + ts));
    return written;
  }

  @Test
  void nothingIsPendingAtFirst() {
    assertFalse(acks.isPending());
    assertEquals(List.of(), flush(0));
  }

  @Test
  void onlyTheNewestInOrderIsWritten() {
    acks.addInOrder(5, 50);
    acks.addInOrder(6, 60);
    assertEquals(2, acks.arrivals());
    assertEquals(List.of("6@60"), flush(7));
  }

  @Test
  void everySegmentBeyondTheGapIsWritten() {
    for (int sn = 10; sn < 30; sn++) {
      addBeyondGap(sn, sn);
    }
    assertEquals(20, flush(9).size());
  }

  @Test
  void segmentsWhoseGapHasClosedAreAcknowledgedByUna() {
    addBeyondGap(6, 60);
    addBeyondGap(8, 80);
    acks.addInOrder(5, 55);
    assertEquals(List.of("8@80", "5@55"), flush(7));
  }

  @Test
  void newestBeyondTheGapIsWrittenOnce() {
    addBeyondGap(8, 80);
    assertEquals(List.of("8@80"), flush(7));
  }

  @Test
  void duplicateDoesNotReplaceTheNewest() {
    acks.addInOrder(6, 60);
    acks.addDuplicate(2, 20);
    assertEquals(List.of("6@60"), flush(7));
    acks.addDuplicate(2, 20);
    assertEquals(List.of("2@20"), flush(7));
  }

  @Test
  void comparisonsHoldOverTheWrap() {
    addBeyondGap(1, 10);
    acks.addInOrder(-3, 30);
    assertEquals(List.of("1@10", "-3@30"), flush(-2));
  }

  @Test
  void duplicatesArePendingAndNoArrivals() {
    acks.addDuplicate(3, 30);
    assertTrue(acks.isPending());
    assertEquals(0, acks.arrivals());
    assertEquals(List.of("3@30"), flush(7));
  }

  @Test
  void flushClearsTheList() {
    acks.addInOrder(5, 50);
    addBeyondGap(9, 90);
    flush(6);
    assertFalse(acks.isPending());
    assertEquals(0, acks.arrivals());
    assertEquals(List.of(), flush(6));
  }

  @Test
  void onALossyPathAcknowledgementsAreWrittenOnceMore() {
    acks.addInOrder(5, 50);
    addBeyondGap(7, 70);
    addBeyondGap(8, 80);
    assertEquals(List.of("7@70", "8@80"), flush(6, true, 0));
    assertTrue(acks.isPending());
    assertEquals(List.of("7@70", "8@80"), flush(6, true, 1_000));
    assertFalse(acks.isPending());
    assertEquals(List.of(), flush(6, true, 2_000));
  }

  @Test
  void acknowledgementsOfDuplicatesAreWrittenOnce() {
    addBeyondGap(7, 70);
    assertEquals(List.of("7@70"), flush(6, true, 0));
    for (int ms = 2; ms < 10; ms += 2) {
      assertTrue(acks.ensureRoom());
      acks.addDuplicateBeyondGap(7, 70 + ms);
      int repeated = ms == 2 ? 1 : 0; // That of the segment itself.
      assertEquals(repeated + 1, flush(6, true, 1_000L * ms).size());
    }
    assertEquals(List.of(), flush(6, true, 12_000));
  }

  @Test
  void whatIsWrittenOnceMoreIsTheNewestInOrder() {
    acks.addInOrder(5, 50);
    assertEquals(List.of("5@50"), flush(6, true, 0));
    acks.addInOrder(6, 60);
    assertEquals(List.of("6@60"), flush(7, true, 500));
    assertEquals(List.of("6@60"), flush(7, true, 2_000));
    assertFalse(acks.isPending());
  }

  @Test
  void nothingIsWrittenOnceMoreWithinAMillisecond() {
    addBeyondGap(7, 70);
    assertEquals(List.of("7@70"), flush(6, true, 0));
    assertEquals(List.of(), flush(6, true, 999));
    assertTrue(acks.isPending());
    assertEquals(List.of("7@70"), flush(6, true, 1_000));
  }

  @Test
  void acknowledgementsThatFollowWithinAMillisecondDoNotReplaceThoseToBeWrittenOnceMore() {
    addBeyondGap(7, 70);
    assertEquals(List.of("7@70"), flush(6, true, 0));
    addBeyondGap(9, 90);
    assertEquals(List.of("9@90"), flush(6, true, 500));
    assertEquals(List.of("7@70", "9@90"), flush(6, true, 1_000));
    assertEquals(List.of(), flush(6, true, 2_000));
  }

  @Test
  void acknowledgementsBeyondAGapAreWrittenAThirdTimeWithNewOnes() {
    addBeyondGap(7, 70);
    flush(6, true, 0);
    assertEquals(List.of("7@70"), flush(6, true, 2_000));
    assertFalse(acks.isPending());
    addBeyondGap(8, 80);
    assertEquals(List.of("7@70", "8@80"), flush(6, true, 16_000));
    assertEquals(List.of("8@80"), flush(6, true, 18_000));
    addBeyondGap(9, 90);
    assertEquals(List.of("8@80", "9@90"), flush(6, true, 32_000));
  }

  @Test
  void noThirdTimeOnceThePathIsNoLongerLossy() {
    addBeyondGap(7, 70);
    flush(6, true, 0);
    flush(6, true, 2_000);
    addBeyondGap(8, 80);
    assertEquals(List.of("7@70", "8@80"), flush(6, false, 16_000));
    addBeyondGap(9, 90);
    assertEquals(List.of("9@90"), flush(6, true, 32_000));
  }

  @Test
  void newAcknowledgementsJoinThoseThatAreWrittenOnceMore() {
    addBeyondGap(7, 70);
    assertEquals(List.of("7@70"), flush(6, true, 0));
    addBeyondGap(9, 90);
    assertEquals(List.of("7@70", "9@90"), flush(6, true, 1_000));
    assertEquals(List.of("9@90"), flush(6, true, 2_000));
  }

  @Test
  void acknowledgementOfADatagramThatComesAloneIsWrittenOnce() {
    addDatagrams(1);
    flush(1, true, 0);
    flush(1, true, 2_000);
    addDatagrams(1);
    flush(1, true, 62_000);
    assertTrue(acks.isPending(), "60 ms after the last one");
    flush(1, true, 64_000);
    addDatagrams(2);
    flush(2, true, 124_001);
    assertTrue(acks.isPending(), "two datagrams");
    flush(2, true, 126_000);
    addDatagrams(1);
    assertEquals(List.of("0@0"), flush(1, true, 186_001));
    assertFalse(acks.isPending());
  }

  private void addDatagrams(int datagrams) {
    for (int sn = 0; sn < datagrams; sn++) {
      acks.addInOrder(sn, 0);
      acks.endDatagram();
    }
  }

  @Test
  void fewDatagramsTwiceInARowAreThin() {
    addDatagrams(17);
    assertFalse(acks.isThin());
    flush(17, true, 0);
    assertFalse(acks.isThin(), "until another flush has had few");
    acks.addInOrder(17, 0);
    flush(18, true, 1_000);
    assertTrue(acks.isThin());
  }

  @Test
  void acknowledgementsOfManyDatagramsAreNotWrittenOnceMore() {
    addDatagrams(64);
    flush(64, true, 0);
    assertTrue(acks.isPending());
    addDatagrams(65);
    flush(65, true, 1_000);
    assertFalse(acks.isPending());
  }
}
