package io.kcp4j.sim;

import static io.kcp4j.sim.VirtualTime.US_PER_MS;

import io.kcp4j.internal.lanes.Lanes;
import io.netty.buffer.ByteBufAllocator;
import java.util.SplittableRandom;

/** The user of a side that has lanes: see {@link LaneTraffic}. */
final class LaneUser implements PairUser {

  private final WireMonitor wire;
  private final Scenario.Side side;
  private final VirtualTime time;
  private final SplittableRandom random;
  private final LaneTraffic traffic;

  private LaneTraffic peer;
  private long writesAtUs;
  private long readsAtUs;

  LaneUser(
      Lanes lanes,
      WireMonitor wire,
      Scenario.Side side,
      VirtualTime time,
      SplittableRandom random,
      ByteBufAllocator allocator) {
    this.wire = wire;
    this.side = side;
    this.time = time;
    this.random = random;
    traffic = new LaneTraffic(lanes, allocator, random.split(), false, time.nowUs());
  }

  @Override
  public void connect(PairUser peer) {
    this.peer = ((LaneUser) peer).traffic;
    traffic.connect(this.peer);
  }

  @Override
  public long bytesWritten() {
    return traffic.bytesWritten();
  }

  @Override
  public long bytesRead() {
    return traffic.bytesRead();
  }

  @Override
  public boolean isReadByPeer() {
    return traffic.missing() == null;
  }

  @Override
  public long quietAtUs() {
    return traffic.quietAtUs();
  }

  @Override
  public long nextTurnAtUs() {
    boolean writes = !isWritten() && traffic.isWritable();
    long readUs = Math.max(traffic.nextReadAtUs(time.nowUs()), readsAtUs);
    return writes ? Math.min(writesAtUs, readUs) : readUs;
  }

  @Override
  public void stopReading(long untilUs) {
    readsAtUs = Math.max(readsAtUs, untilUs);
  }

  @Override
  public boolean read() {
    if (time.nowUs() < readsAtUs) {
      return false;
    }
    boolean isAny = traffic.read(side.reading().atOnce(), time.nowUs());
    if (side.reading().gapMs() > 0) {
      readsAtUs = time.nowUs() + side.reading().gapMs() * US_PER_MS;
    }
    return isAny;
  }

  @Override
  public boolean isWritten() {
    return wire.newSegments() >= side.segments();
  }

  @Override
  public boolean write() {
    if (isWritten() || time.nowUs() < writesAtUs || !traffic.isWritable()) {
      return false;
    }
    traffic.write(Math.min(side.writing().maxBytes(), 3 * side.config().mssBytes()));
    int gapMs = 1 + random.nextInt(side.writing().gapMs() + 1);
    writesAtUs = time.nowUs() + gapMs * US_PER_MS;
    return true;
  }
}
