package io.kcp4j.sim;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.LossDetection;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Everything that is to happen in one run of a {@link SimulatedPair}.
 *
 * @param seed the seed of the run
 * @param conv the conversation id
 * @param firstSn the first sequence number of both directions
 * @param a one side
 * @param b the other side
 * @param healAt when both sides have sent this share of their segments the network heals
 * @param forgery the probability, per turn of a side, that a forged datagram is received
 * @param earlyFlush the probability, per turn of a side, of flushes that are not needed
 */
public record Scenario(
    long seed,
    int conv,
    int firstSn,
    Side a,
    Side b,
    double healAt,
    double forgery,
    double earlyFlush) {

  /** Lanes need the messages of the extension, which need so much. */
  private static final int MIN_LANES_MTU_BYTES = 116;

  /**
   * One side of a pair.
   *
   * @param config its settings
   * @param link what the network does to the datagrams that it sends
   * @param budgetBytes how much memory it may hold
   * @param clockUs the time of its clock when the run begins
   * @param tsOrigin the timestamp at its clock's 0
   * @param segments how many new segments it sends before it stops writing
   * @param writing how it writes
   * @param reading how it reads
   * @param acts what happens to it, by progress
   * @param allocationFailures the probability that its allocator fails until the network heals
   */
  public record Side(
      KcpConfig config,
      LinkProfile link,
      long budgetBytes,
      long clockUs,
      int tsOrigin,
      int segments,
      Writing writing,
      Reading reading,
      List<Act> acts,
      double allocationFailures) {

    /** A side whose allocator never fails. */
    public Side(
        KcpConfig config,
        LinkProfile link,
        long budgetBytes,
        long clockUs,
        int tsOrigin,
        int segments,
        Writing writing,
        Reading reading,
        List<Act> acts) {
      this(config, link, budgetBytes, clockUs, tsOrigin, segments, writing, reading, acts, 0);
    }

    /** The same with an allocator that fails so often. */
    public Side allocationFailures(double rate) {
      return new Side(
          config, link, budgetBytes, clockUs, tsOrigin, segments, writing, reading, acts, rate);
    }
  }

  /**
   * How a side writes: chunks, or messages, of random sizes.
   *
   * @param minBytes the smallest
   * @param maxBytes the largest
   * @param gapMs the longest time between two of them, or 0 to write whenever there is room
   */
  public record Writing(int minBytes, int maxBytes, int gapMs) {

    /** Writes whenever there is room. */
    public static final Writing BULK = new Writing(4_000, 60_000, 0);
  }

  /**
   * How a side reads.
   *
   * @param atOnce how many buffers or messages it takes at a time
   * @param gapMs how long it then waits, or 0
   */
  public record Reading(int atOnce, int gapMs) {

    /** Reads all there is, always. */
    public static final Reading EAGER = new Reading(Integer.MAX_VALUE, 0);
  }

  /** Something that happens once to one side. */
  public enum ActKind {
    /** The network is down for {@code amount} ms. */
    PARTITION,
    /** The machine does nothing for {@code amount} ms. */
    PAUSE,
    /** The clock jumps forward by {@code amount} ms. */
    CLOCK_JUMP,
    /** Nothing is read for {@code amount} ms. */
    STOP_READING,
    /** The MTU becomes {@code amount} bytes. */
    MTU
  }

  /**
   * Something that happens once to one side.
   *
   * @param kind what
   * @param atSegment when the side has sent so many new segments
   * @param amount how much of it
   */
  public record Act(ActKind kind, int atSegment, int amount) {}

  /** Two equal sides with a clean network, to be changed by a script. */
  public static Scenario scripted(KcpConfig config, int delayMs, int segmentsOfA) {
    LinkProfile link = LinkProfile.clean(delayMs);
    Side a =
        new Side(
            config,
            link,
            Long.MAX_VALUE,
            0,
            0,
            segmentsOfA,
            Writing.BULK,
            Reading.EAGER,
            List.of());
    Side b =
        new Side(config, link, Long.MAX_VALUE, 0, 0, 0, Writing.BULK, Reading.EAGER, List.of());
    return new Scenario(1, 1, 0, a, b, 1, 0, 0);
  }

  /** Draws a scenario. */
  public static Scenario draw(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Delivery delivery = random.nextInt(3) == 0 ? Delivery.MESSAGE : Delivery.STREAM;
    int conv = random.nextInt();
    int segments = (int) LinkProfile.logUniform(random, 550, 1500);
    int firstSn = nearWrap(random, segments);
    double healAt = 0.5 + 0.6 * random.nextDouble();
    KcpConfig a = drawConfig(random, delivery);
    KcpConfig b = drawConfig(random, delivery);
    double failures = FailingAllocator.drawRate(seed);
    return new Scenario(
        seed,
        conv,
        firstSn,
        drawSide(random, a, segments, Math.min(healAt, 0.9)).allocationFailures(failures),
        drawSide(random, b, segments + random.nextInt(200), Math.min(healAt, 0.9))
            .allocationFailures(failures),
        healAt,
        random.nextBoolean() ? 0 : LinkProfile.logUniform(random, 0.002, 0.05),
        1 / 64.0);
  }

  /** Draws a scenario of two sides with lanes. */
  public static Scenario drawLanes(long seed) {
    Scenario drawn = draw(seed);
    return new Scenario(
        seed,
        drawn.conv,
        drawn.firstSn,
        withLanes(drawn.a),
        withLanes(drawn.b),
        drawn.healAt,
        drawn.forgery,
        drawn.earlyFlush);
  }

  private static Side withLanes(Side side) {
    int mtuBytes = Math.max(side.config.mtuBytes(), MIN_LANES_MTU_BYTES);
    List<Act> acts =
        side.acts.stream()
            .map(
                act ->
                    act.kind == ActKind.MTU
                        ? new Act(
                            act.kind, act.atSegment, Math.max(act.amount, MIN_LANES_MTU_BYTES))
                        : act)
            .toList();
    return new Side(
        side.config.toBuilder().delivery(Delivery.LANES).mtuBytes(mtuBytes).build(),
        side.link,
        side.budgetBytes,
        side.clockUs,
        side.tsOrigin,
        side.segments,
        side.writing,
        side.reading,
        acts,
        side.allocationFailures);
  }

  /** 0, or in a quarter of the draws so little below 2^32 or 2^31 that the run crosses it. */
  private static int nearWrap(SplittableRandom random, int span) {
    int below = random.nextInt(span);
    return switch (random.nextInt(8)) {
      case 0 -> -below;
      case 1 -> Integer.MIN_VALUE - below;
      default -> 0;
    };
  }

  private static KcpConfig drawConfig(SplittableRandom random, Delivery delivery) {
    KcpMode[] modes = KcpMode.values();
    KcpConfig.Builder config =
        KcpConfig.builder()
            .delivery(delivery)
            .mode(modes[random.nextInt(modes.length)])
            .sendWindow(drawWindow(random))
            .receiveWindow(drawWindow(random))
            .mtuBytes(drawMtu(random))
            .lossDetection(
                random.nextBoolean() ? LossDetection.RACK : LossDetection.FAST_RETRANSMIT)
            .ackNoDelay(random.nextBoolean())
            // Partitions last long, and a third may be lost: no link is to count as dead.
            .userTimeoutMs(0)
            .zeroWindowTimeoutMs(0);
    if (random.nextBoolean()) {
      config.fastRetransmit(random.nextInt(6));
    }
    if (random.nextBoolean()) {
      config.noDelay(random.nextBoolean());
      config.intervalMs((int) LinkProfile.logUniform(random, 1, 200));
    }
    if (random.nextInt(3) == 0) {
      config.congestionControl(CongestionControl.RENO);
    } else if (random.nextInt(3) == 0) {
      config.congestionControl(CongestionControl.BBR);
    } else {
      config.congestionControl(CongestionControl.NONE);
    }
    if (random.nextInt(4) == 0) {
      config.sendQueue(1 + random.nextInt(300));
    }
    return config.build();
  }

  private static int drawWindow(SplittableRandom random) {
    return (int) LinkProfile.logUniform(random, 1, 1024.99);
  }

  private static int drawMtu(SplittableRandom random) {
    return random.nextInt(3) == 0
        ? 1400
        : (int) LinkProfile.logUniform(random, KcpConfig.MIN_MTU_BYTES, KcpConfig.MAX_MTU_BYTES);
  }

  private static Side drawSide(
      SplittableRandom random, KcpConfig config, int segments, double actsUntil) {
    long windowBytes = (long) config.sendWindow() * config.mtuBytes();
    long clockMs = random.nextLong(1L << 41);
    // The timestamp passes its wrap, one way or the other, some seconds into the run.
    int untilWrapMs = random.nextInt(10_000);
    int firstTs =
        switch (random.nextInt(8)) {
          case 0 -> -untilWrapMs;
          case 1 -> Integer.MIN_VALUE - untilWrapMs;
          default -> random.nextInt();
        };
    return new Side(
        config,
        LinkProfile.draw(random, windowBytes),
        Long.MAX_VALUE,
        clockMs * VirtualTime.US_PER_MS,
        firstTs - (int) clockMs,
        segments,
        drawWriting(random, config),
        random.nextInt(4) > 0
            ? Reading.EAGER
            : new Reading(1 + random.nextInt(20), 1 + random.nextInt(50)),
        drawActs(random, (int) (segments * actsUntil)));
  }

  private static Writing drawWriting(SplittableRandom random, KcpConfig config) {
    return switch (random.nextInt(3)) {
      case 0 -> new Writing(1, 40 * config.mssBytes(), 0);
      case 1 -> new Writing(1, 3 * config.mssBytes(), random.nextInt(50));
      default -> new Writing(1, 20 * config.mssBytes(), random.nextInt(300));
    };
  }

  private static List<Act> drawActs(SplittableRandom random, int beforeSegment) {
    List<Act> acts = new ArrayList<>();
    for (ActKind kind : ActKind.values()) {
      if (random.nextInt(6) > 0) {
        continue;
      }
      for (int n = random.nextInt(3); n >= 0; n--) {
        int amount =
            switch (kind) {
              case PARTITION -> (int) LinkProfile.logUniform(random, 100, 20_000);
              case PAUSE, CLOCK_JUMP -> (int) LinkProfile.logUniform(random, 20, 8_000);
              case STOP_READING -> (int) LinkProfile.logUniform(random, 100, 15_000);
              case MTU -> drawMtu(random);
            };
        acts.add(new Act(kind, random.nextInt(beforeSegment), amount));
      }
    }
    acts.sort((x, y) -> Integer.compare(x.atSegment, y.atSegment));
    return List.copyOf(acts);
  }
}
