package io.kcp4j.netty;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.kcp4j.netty.internal.PendingWrite;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelOutputShutdownException;
import io.netty.util.internal.StringUtil;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;

/**
 * The {@code Unsafe} of a {@link KcpChannel}: does what the final methods of Netty's {@code
 * AbstractUnsafe} cannot. It writes the stream or messages from the outbound buffer to the session,
 * and messages of lanes and unreliable datagrams past it, see {@link PendingWrite}. It closes after
 * {@link ChannelClosure} has lingered. Used by the channel's event loop, but for {@link #register}.
 */
final class KcpUnsafe extends ForwardingUnsafe {

  /** A user-defined writability bit that users are unlikely to set themselves. */
  private static final int MEMORY_WRITABILITY = 30;

  private final KcpChannel channel;

  /** Null until the first unreliable datagram is written. */
  private PendingWrite.Queue unreliableWrites;

  /** Whether the memory limit keeps the first pending write from the send queue. */
  private boolean isShortOfMemory;

  KcpUnsafe(KcpChannel channel, Channel.Unsafe unsafe) {
    super(unsafe);
    this.channel = channel;
  }

  /**
   * Registers an accepted channel with the event loop of its socket, to which its session belongs.
   * {@code ServerBootstrap} would register it with any event loop of its child group.
   */
  @Override
  public void register(EventLoop eventLoop, ChannelPromise promise) {
    super.register(channel.parent() == null ? eventLoop : channel.endpoint().eventLoop(), promise);
  }

  /** Refuses what cannot be written as a stream or message. */
  Object filter(Object msg) throws IOException {
    if (channel.isLingering()) {
      throw new ClosedChannelException();
    }
    if (channel.isActive() && channel.isOutputShutdown()) {
      throw new ChannelOutputShutdownException("output is shut down: " + channel);
    }
    boolean hasLanes = channel.lanes() != null;
    if (msg instanceof ByteBuf && !hasLanes) {
      return msg;
    }
    throw new UnsupportedOperationException(
        "unsupported message type: "
            + StringUtil.simpleClassName(msg)
            + " (expected: "
            + (hasLanes ? "LaneMessage" : "ByteBuf")
            + ", UnreliableDatagram)");
  }

  /** Moves pending writes into the session's send queue, as far as that takes them. */
  void write(ChannelOutboundBuffer in) {
    channel.session().markBegun();
    Session session = channel.session().get();
    Kcp kcp = session.kcp();
    boolean sent = false;
    for (Object message = in.current(); message != null; message = in.current()) {
      if (message instanceof ByteBuf data) {
        int before = data.readableBytes();
        boolean all;
        try {
          all = kcp.send(data);
        } catch (IllegalArgumentException e) {
          in.remove(e); // Larger than any message can be.
          continue;
        }
        sent |= all || data.readableBytes() < before;
        in.progress(before - data.readableBytes());
        if (!all) {
          break;
        }
      }
      in.remove();
    }
    boolean isShort = kcp.isSendShortOfMemory();
    if (isShort != isShortOfMemory) {
      isShortOfMemory = isShort;
      in.setUserDefinedWritability(MEMORY_WRITABILITY, !isShort);
    }
    session.waitingToBeWritten(in.totalPendingWriteBytes());
    if (sent || kcp.isSendDeferred() || kcp.isSendLimited()) {
      // If the allocator had no memory, it will be asked again; the path may have to be challenged.
      session.table().scheduleFlush(session);
    }
  }

  @Override
  public void write(Object msg, ChannelPromise promise) {
    if (msg instanceof UnreliableDatagram datagram) {
      writeUnreliable(datagram, promise);
    } else if (msg instanceof LaneMessage message) {
      writeToLane(message, promise);
    } else {
      unsafe.write(msg, promise);
    }
  }

  private void writeToLane(LaneMessage message, ChannelPromise promise) {
    Exception refusal = laneRefusal(message);
    if (refusal == null) {
      channel.lanes().write(message, promise);
    } else {
      refuse(message, promise, refusal);
    }
  }

  private static void refuse(ByteBufHolder message, ChannelPromise promise, Exception refusal) {
    message.release();
    PendingWrite.fail(promise, refusal);
  }

  private void writeUnreliable(UnreliableDatagram datagram, ChannelPromise promise) {
    Exception refusal = unreliableRefusal(datagram.content());
    if (refusal != null) {
      refuse(datagram, promise, refusal);
      return;
    }
    if (unreliableWrites == null) {
      unreliableWrites = new PendingWrite.Queue(channel.session());
    }
    unreliableWrites.add(
        new PendingWrite(unreliableWrites, null, null, datagram.content(), promise));
    int dropped = unreliableWrites.dropBeyond(channel.config().kcp().datagramQueue());
    channel.session().kcp().counters().add(KcpCounter.UNRELIABLE_DROPPED, dropped);
  }

  @Override
  public void flush() {
    if (unreliableWrites != null && channel.isActive() && unreliableWrites.flush()) {
      channel.session().markBegun();
      channel.session().scheduleFlush();
    }
    KcpLanes lanes = channel.lanes();
    if (lanes != null && channel.isActive() && lanes.flushWrites()) {
      lanes.flush();
    }
    unsafe.flush();
  }

  /** Why nothing can be written, or null. */
  private Exception refusal() {
    if (!channel.isOpen() || channel.isLingering()) {
      return channel.closedBy();
    }
    if (!channel.isActive()) {
      return new NotYetConnectedException();
    }
    return channel.isOutputShutdown()
        ? new ChannelOutputShutdownException("output is shut down: " + channel)
        : null;
  }

  /** Why a message of a lane cannot be sent, or null. */
  private Exception laneRefusal(LaneMessage message) {
    Exception refusal = refusal();
    if (refusal != null) {
      return refusal;
    }
    return channel.lanes() == null ? KcpLanes.missing(channel) : channel.lanes().refusal(message);
  }

  /** Why an unreliable datagram cannot be sent, or null. */
  private Exception unreliableRefusal(ByteBuf content) {
    Exception refusal = refusal();
    if (refusal != null) {
      return refusal;
    }
    if (channel.config().kcp().datagramQueue() == 0) {
      return new IllegalStateException(
          "datagramQueue: 0 (expected: >= 1, to send an UnreliableDatagram)");
    }
    int max = channel.session().get().maxUnreliableBytes();
    if (max == 0) {
      return new IllegalStateException(
          KcpChannelOption.FEC
              + ": off (expected: on, or a peer with the extension, to send an"
              + " UnreliableDatagram)");
    }
    return content.readableBytes() <= max
        ? null
        : new IllegalArgumentException(
            "datagram: " + content.readableBytes() + " bytes (expected: <= " + max + ")");
  }

  /** Fails the unreliable datagrams that wait, after the session has been closed. */
  void closeWrites() {
    if (unreliableWrites != null) {
      unreliableWrites.close();
    }
  }

  @Override
  public void close(ChannelPromise promise) {
    if (!channel.closure().close(promise)) {
      super.close(promise);
    }
  }

  /**
   * Closes the channel first. Netty would do both at once, and remove the handlers before it fires
   * {@code channelInactive}.
   */
  @Override
  public void deregister(ChannelPromise promise) {
    if (!channel.isRegistered() || !channel.isOpen()) {
      super.deregister(promise);
      return;
    }
    channel.closure().closeNow();
    channel.eventLoop().execute(() -> super.deregister(promise));
  }
}
