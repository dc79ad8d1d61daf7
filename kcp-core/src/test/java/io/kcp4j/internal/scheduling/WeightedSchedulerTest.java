package io.kcp4j.internal.scheduling;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.scheduling.WeightedScheduler.Entry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WeightedSchedulerTest {

  private WeightedScheduler<String> scheduler = new WeightedScheduler<>(1);
  private final Map<String, Entry<String>> entries = new HashMap<>();

  private Entry<String> add(String name, int priority, int weight) {
    Entry<String> entry = new Entry<>(name, priority, weight);
    entries.put(name, entry);
    scheduler.add(entry);
    return entry;
  }

  private String send(int bytes) {
    String next = scheduler.peek();
    scheduler.charge(entries.get(next), bytes);
    return next;
  }

  private String send(int bytes, int times) {
    StringBuilder sent = new StringBuilder();
    for (int i = 0; i < times; i++) {
      sent.append(send(bytes));
    }
    return sent.toString();
  }

  @Test
  void emptySchedulerHasNobody() {
    assertNull(scheduler.peek());
    assertEquals(0, scheduler.size());
  }

  @Test
  void equalsTakeTurns() {
    add("a", 3, 16);
    add("b", 3, 16);
    add("c", 3, 16);
    assertEquals("abcabcabc", send(100, 9));
  }

  @Test
  void framesInARowCountAsThoseThatAreChargedOneByOne() {
    Entry<String> entry = add("a", 3, 16);
    scheduler.charge(entry, 40, 100);
    add("b", 3, 16);
    assertEquals("babababa", send(100, 8));
  }

  @Test
  void bytesCountAndNotFrames() {
    add("a", 3, 16);
    add("b", 3, 16);
    Map<String, Integer> sent = new HashMap<>();
    for (int i = 0; i < 1000; i++) {
      String next = scheduler.peek();
      int bytes = next.equals("a") ? 1000 : 100;
      scheduler.charge(entries.get(next), bytes);
      sent.merge(next, bytes, Integer::sum);
    }
    assertEquals(1.0, (double) sent.get("a") / sent.get("b"), 0.02);
  }

  @Test
  void weightsDivideTheBytes() {
    add("a", 3, 1);
    add("b", 3, 2);
    add("c", 3, 256);
    Map<String, Integer> sent = new HashMap<>();
    for (int i = 0; i < 259 * 100; i++) {
      sent.merge(send(100), 1, Integer::sum);
    }
    assertEquals(100, sent.get("a"), 2);
    assertEquals(200, sent.get("b"), 2);
    assertEquals(25_600, sent.get("c"), 2);
  }

  @Test
  void lowerPriorityNumberGoesFirst() {
    add("c", 7, 256);
    add("b", 3, 1);
    assertEquals("bbb", send(100, 3));
    Entry<String> a = add("a", 0, 1);
    assertEquals("aa", send(1_000_000, 2));
    scheduler.remove(a);
    assertEquals("b", send(100));
    scheduler.remove(entries.get("b"));
    assertEquals("c", send(100));
  }

  @Test
  void oneThatIsAddedIsNextAfterTheCurrentFrame() {
    for (int i = 0; i < 100; i++) {
      add("bulk" + i, 3, 16);
    }
    send(4096, 1050);
    add("new", 3, 16);
    assertEquals("new", send(4096));
  }

  @Test
  void turnsHaveSeveralFrames() {
    scheduler = new WeightedScheduler<>(300);
    add("a", 3, 16);
    add("b", 3, 16);
    assertEquals("ab" + "aabb" + "aaabbbaaabbb", send(100, 18));
  }

  @Test
  void oneThatIsAddedInterruptsATurn() {
    scheduler = new WeightedScheduler<>(400);
    add("a", 3, 16);
    add("b", 3, 16);
    assertEquals("abaaabbb", send(100, 8));
    assertEquals("aa", send(100, 2));
    add("c", 3, 16);
    assertEquals("c" + "aa" + "bbbb" + "ccc" + "aaaabbbbcccc", send(100, 22));
  }

  @Test
  void turnThatIsCutShortCounts() {
    scheduler = new WeightedScheduler<>(400);
    Entry<String> jumper = add("a", 3, 16);
    add("b", 3, 16);
    int ofJumper = 0;
    for (int i = 0; i < 10_000; i++) {
      if (send(100).equals("a")) {
        ofJumper++;
        scheduler.remove(jumper);
        scheduler.add(jumper);
      }
    }
    assertEquals(5000, ofJumper, 4);
  }

  @Test
  void nothingIsSavedUpWhileIdle() {
    Entry<String> idle = add("a", 3, 16);
    scheduler.remove(idle);
    add("b", 3, 16);
    send(1000, 100);
    scheduler.add(idle);
    assertEquals(10, (double) send(1000, 20).chars().filter(c -> c == 'a').count(), 1);
  }

  @Test
  void leavingAndComingBackIsNoAdvantage() {
    Entry<String> jumper = add("a", 3, 16);
    add("b", 3, 16);
    int ofJumper = 0;
    for (int i = 0; i < 1000; i++) {
      if (send(1000).equals("a")) {
        ofJumper++;
        scheduler.remove(jumper);
        scheduler.add(jumper);
      }
    }
    assertEquals(500, ofJumper, 1);
  }

  @Test
  void classifyMovesAnEntryBetweenPriorities() {
    Entry<String> a = add("a", 3, 16);
    add("b", 2, 16);
    assertEquals("b", scheduler.peek());
    scheduler.classify(a, 1, 20);
    assertEquals("a", scheduler.peek());
    assertEquals(1, a.priority());
    assertEquals(20, a.weight());
    scheduler.classify(a, 7, 20);
    assertEquals("b", scheduler.peek());
    scheduler.remove(a);
    scheduler.classify(a, 0, 20);
    assertFalse(a.isQueued());
    assertEquals("b", scheduler.peek());
  }

  @Test
  void aNewWeightDoesNotApplyToWhatWasSentBefore() {
    scheduler = new WeightedScheduler<>(1000);
    Entry<String> a = add("a", 3, 256);
    assertEquals("aaaaaaaa", send(100, 8));
    add("b", 3, 16);
    assertEquals("b", send(100));
    scheduler.classify(a, 3, 1);
    assertEquals("bbbbbbbbb" + "a", send(100, 10));
  }

  @Test
  void priorityAndWeightHaveRanges() {
    Entry<String> a = add("a", 3, 16);
    assertThrows(IllegalArgumentException.class, () -> scheduler.classify(a, -1, 1));
    assertThrows(IllegalArgumentException.class, () -> scheduler.classify(a, 8, 1));
    assertThrows(IllegalArgumentException.class, () -> scheduler.classify(a, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> scheduler.classify(a, 0, 257));
  }

  @Test
  void addingAndRemovingTwiceChangesNothing() {
    Entry<String> a = add("a", 3, 16);
    scheduler.add(a);
    assertEquals(1, scheduler.size());
    scheduler.remove(a);
    scheduler.remove(a);
    assertEquals(0, scheduler.size());
    assertNull(scheduler.peek());
  }

  /** Against a model: the shares of those that always send, and who is in. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void schedulerAgreesWithASet(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Entry<String>> all = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      Entry<String> entry =
          new Entry<>("e" + i, random.nextInt(8), 1 + random.nextInt(WeightedScheduler.MAX_WEIGHT));
      entries.put("e" + i, entry);
      all.add(entry);
    }
    Set<Entry<String>> queued = new HashSet<>();
    for (int i = 0; i < 20_000; i++) {
      Entry<String> entry = all.get(random.nextInt(all.size()));
      switch (random.nextInt(5)) {
        case 0, 1 -> {
          scheduler.add(entry);
          queued.add(entry);
        }
        case 2 -> {
          scheduler.remove(entry);
          queued.remove(entry);
        }
        case 3 -> scheduler.classify(entry, random.nextInt(8), 1 + random.nextInt(256));
        default -> {
          if (!queued.isEmpty()) {
            send(1 + random.nextInt(5000));
          }
        }
      }
      assertEquals(queued.size(), scheduler.size());
      if (!queued.isEmpty()) {
        int best = queued.stream().mapToInt(Entry::priority).min().getAsInt();
        Entry<String> next = entries.get(scheduler.peek());
        assertTrue(queued.contains(next));
        assertEquals(best, next.priority());
      }
    }
  }
}
