package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

/**
 * Sends requests to an {@link EchoServer}, of which a fixed number is unanswered at any time, and
 * checks every byte of the replies.
 */
final class RequestLoop implements LabUser {

  /**
   * The echo of a request.
   *
   * @param atUs when it arrived
   * @param latencyUs how long after its request
   */
  record Reply(long atUs, long latencyUs) {}

  private final VirtualTime time;
  private final int unanswered;
  private final int messageBytes;
  private final Payload payload;
  private final WriteQueue queue;
  private final Queue<Long> sentAtUs = new ArrayDeque<>();
  private final List<Reply> received = new ArrayList<>();
  private final ByteBuf message = Unpooled.buffer();
  private int partBytes;
  private boolean isBegun;

  /**
   * Makes a loop.
   *
   * @param unanswered how many requests are under way
   * @param messageBytes the size of each
   */
  RequestLoop(VirtualTime time, int unanswered, int messageBytes, Payload payload) {
    this.time = time;
    this.unanswered = unanswered;
    this.messageBytes = messageBytes;
    this.payload = payload;
    queue = new WriteQueue(messageBytes);
  }

  void start(LabSession session) {
    isBegun = true;
    progressed(session);
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    if (!payload.matchesNext(data)) {
      throw new AssertionError("altered: reply " + received.size());
    }
    partBytes += data.readableBytes();
    for (; partBytes >= messageBytes; partBytes -= messageBytes) {
      received.add(new Reply(time.nowUs(), time.nowUs() - sentAtUs.remove()));
    }
  }

  @Override
  public void progressed(LabSession session) {
    boolean hasWritten = queue.drain(session);
    while (isBegun && sentAtUs.size() < unanswered) {
      sentAtUs.add(time.nowUs());
      payload.write(message.clear(), messageBytes);
      queue.write(session, message);
      hasWritten = true;
    }
    if (hasWritten) {
      session.flush();
    }
  }

  /** The replies that arrived between two times. */
  List<Reply> replies(long fromUs, long toUs) {
    return received.stream().filter(r -> r.atUs() >= fromUs && r.atUs() < toUs).toList();
  }
}
