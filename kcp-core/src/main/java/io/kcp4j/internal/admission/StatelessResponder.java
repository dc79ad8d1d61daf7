package io.kcp4j.internal.admission;

import io.kcp4j.CloseReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.path.AddressRateLimiter;
import io.kcp4j.internal.path.AddressRateLimiter.Sampled;
import io.kcp4j.internal.path.AddressRateLimiter.Scope;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.scheduling.RateLimiter;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Answers packets of unknown peers without keeping anything: window probes (protocol.md 8.3),
 * packets that name a session which this side does not know any more (13.5), and first datagrams
 * that begin no session yet (8.8, 13.6). There is one answer to a packet, no longer than that, so
 * that nobody can use it for amplification.
 */
public final class StatelessResponder {

  /** The window in the answer to a probe: C KCP's default receive window. */
  private static final int WINDOW = 128;

  /** The sequence number before the first of a session. */
  private static final int CHALLENGE_SN = -1;

  private static final int ENDED_BYTES =
      ExtensionMessage.HEADER_BYTES
          + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
          + ExtensionMessage.itemBytes(ExtensionMessage.ENDED);

  /** Where answers are written. */
  public interface Output {

    /** Whether the socket takes more packets. */
    boolean isWritable();

    /**
     * Begins a packet that belongs to no session.
     *
     * @param bytes the most that is written, without what the cipher adds
     */
    ByteBuf begin(InetSocketAddress remote, int bytes);

    /** Ends the packet, which leaves with the next flush. */
    void end();
  }

  private final Output output;
  private final KcpCounters counters;
  private ResetTokens tokens;

  /** Null until a query has come. */
  private AnswerLimits limits;

  public StatelessResponder(Output output, KcpCounters counters) {
    this.output = output;
    this.counters = counters;
  }

  /** Sets what proves that answers come from the server, or null not to answer queries. */
  public void tokens(ResetTokens tokens) {
    this.tokens = tokens;
  }

  /** Writes the answer to a probe, unless the output is blocked. */
  void answerProbe(InetSocketAddress remote, int conv) {
    if (output.isWritable()) {
      ByteBuf out = output.begin(remote, Segment.HEADER_BYTES);
      Segment.write(out, conv, Segment.WINS, 0, WINDOW, 0, 0, 0, 0);
      output.end();
    }
  }

  /** Whether this side has the extension. */
  boolean hasExtension() {
    return tokens != null;
  }

  /**
   * Tells a client to offer the extension with another token, unless the output is blocked.
   *
   * @param offeredToken that of its offer
   */
  void answerRetry(SessionKey client, long offeredToken, long retryToken) {
    if (!output.isWritable()) {
      return;
    }
    int bytes =
        ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + ExtensionMessage.itemBytes(ExtensionMessage.RETRY);
    ByteBuf out = beginMessage(client, WINDOW, 0, bytes);
    ExtensionMessage.write(out, ExtensionMessage.TOKEN, offeredToken);
    ExtensionMessage.write(out, ExtensionMessage.RETRY, retryToken);
    output.end();
    counters.add(KcpCounter.RETRIES_OUT, 1);
  }

  /**
   * Tells a client that its session is refused, unless the output is blocked.
   *
   * @param offer what the client has offered; nothing is sent if it is null
   * @param reason what the client is told; nothing is sent if it is null
   */
  void refuse(SessionKey client, FirstPacket.Offer offer, CloseReason reason, long nowUs) {
    if (offer == null || reason == null || !hasExtension()) {
      return;
    }
    int leastBytes =
        ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + ExtensionMessage.itemBytes(ExtensionMessage.REFUSED);
    int roomBytes = offer.datagramBytes() - Segment.HEADER_BYTES - leastBytes;
    if (roomBytes < 0
        || !output.isWritable()
        || !limits(nowUs).takeForUnknown(client.remote(), nowUs)) {
      return;
    }
    byte[] text = ExtensionMessage.ReasonItem.text(reason, roomBytes);
    ByteBuf out = beginMessage(client, WINDOW, 0, leastBytes + text.length);
    ExtensionMessage.write(out, ExtensionMessage.TOKEN, offer.token());
    ExtensionMessage.ReasonItem.write(out, ExtensionMessage.REFUSED, reason.code(), text);
    output.end();
    counters.add(KcpCounter.REFUSALS_OUT, 1);
  }

  /**
   * Whether the peer of a session that was closed here may be told so: it expects an answer, and
   * the output is not blocked.
   */
  boolean mayAnswerEnded(ByteBuf segments) {
    return isAnswerExpected(segments) && mayAnswer(segments, ENDED_BYTES);
  }

  /**
   * Tells the peer of a session that was closed here that it has ended.
   *
   * @param peerToken what messages to the peer have to show
   */
  void answerEnded(SessionKey peer, long peerToken, long nowUs) {
    if (!limits(nowUs).takeForEnded(nowUs)) {
      return;
    }
    ByteBuf out = beginMessage(peer, WINDOW, 0, ENDED_BYTES);
    ExtensionMessage.write(out, ExtensionMessage.TOKEN, peerToken);
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.ENDED);
    output.end();
    counters.add(KcpCounter.ENDED_OUT, 1);
  }

  /** Whether the sender of segments expects an answer. Thus no answer answers another. */
  private static boolean isAnswerExpected(ByteBuf segments) {
    int cmd = Segment.cmd(segments, segments.readerIndex());
    return cmd == Segment.PUSH || cmd == Segment.WASK;
  }

  /**
   * Challenges a client to show that it receives at its address, unless the output is blocked: KCP
   * acknowledges the sequence number and the timestamp of a segment that it takes for a duplicate.
   */
  void challenge(SessionKey client, int ts) {
    if (output.isWritable()) {
      ByteBuf out = output.begin(client.remote(), Segment.HEADER_BYTES);
      Segment.write(out, client.conv(), Segment.PUSH, 0, WINDOW, ts, CHALLENGE_SN, 0, 0);
      output.end();
      counters.add(KcpCounter.ADDRESS_CHALLENGES_OUT, 1);
    }
  }

  /** Whether segments begin with the ACK of a challenge. */
  static boolean isChallengeAck(ByteBuf segments) {
    int index = segments.readerIndex();
    return Segment.cmd(segments, index) == Segment.ACK
        && Segment.sn(segments, index) == CHALLENGE_SN;
  }

  /**
   * Tells the sender of a query that its session is unknown here.
   *
   * @param query the index of its item
   */
  void answerQuery(SessionKey client, ByteBuf segments, int query, long nowUs) {
    ExtensionMessage.Echo echo = ExtensionMessage.Echo.read(segments, query);
    if (mayAnswer(segments, resetBytes(echo))
        && limits(nowUs).takeForUnknown(client.remote(), nowUs)) {
      int una = ExtensionMessage.queryUna(segments, query);
      reset(client, una, ExtensionMessage.longValue(segments, query), echo);
    }
  }

  private static int resetBytes(ExtensionMessage.Echo echo) {
    return ExtensionMessage.HEADER_BYTES
        + ExtensionMessage.itemBytes(ExtensionMessage.STATELESS_RESET)
        + ExtensionMessage.Echo.bytes(echo);
  }

  /**
   * Tells a client that its session is unknown here, unless the output is blocked.
   *
   * @param echo what its query has asked for, or null
   */
  void reset(SessionKey client, int una, long sessionId, ExtensionMessage.Echo echo) {
    if (!output.isWritable()) {
      return;
    }
    ByteBuf out = beginMessage(client, 0, una, resetBytes(echo));
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.STATELESS_RESET, echo);
    out.writeBytes(tokens.of(sessionId));
    ExtensionMessage.Echo.write(out, echo);
    output.end();
    counters.add(KcpCounter.STATELESS_RESETS_OUT, 1);
  }

  /**
   * Challenges the path from which a query has come.
   *
   * @param token that of the client
   * @param query the index of the item of the query
   * @return whether the challenge was sent
   */
  boolean challenge(
      SessionKey client, long token, long challenge, ByteBuf segments, int query, long nowUs) {
    ExtensionMessage.Echo echo = ExtensionMessage.Echo.read(segments, query);
    int bytes =
        ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + ExtensionMessage.itemBytes(ExtensionMessage.PATH_CHALLENGE)
            + ExtensionMessage.Echo.bytes(echo);
    if (!mayAnswer(segments, bytes) || !limits(nowUs).takeForSession(nowUs)) {
      return false;
    }
    ByteBuf out = beginMessage(client, 0, ExtensionMessage.queryUna(segments, query), bytes);
    ExtensionMessage.write(out, ExtensionMessage.TOKEN, token);
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.PATH_CHALLENGE, echo);
    out.writeLongLE(challenge);
    ExtensionMessage.Echo.write(out, echo);
    output.end();
    counters.add(KcpCounter.PATH_CHALLENGES_OUT, 1);
    return true;
  }

  /** Begins a message that says nothing of a session but what a query has asked for. */
  private ByteBuf beginMessage(SessionKey client, int wnd, int una, int bytes) {
    ByteBuf out = output.begin(client.remote(), Segment.HEADER_BYTES + bytes);
    Segment.write(out, client.conv(), Segment.WINS, 0, wnd, 0, 0, una, bytes);
    ExtensionMessage.writeHeader(out);
    return out;
  }

  /** Whether segments may be answered by a message of this size: no longer than they are. */
  private boolean mayAnswer(ByteBuf segments, int bytes) {
    return segments.readableBytes() >= Segment.HEADER_BYTES + bytes && output.isWritable();
  }

  private AnswerLimits limits(long nowUs) {
    if (limits == null) {
      limits = new AnswerLimits(new SessionKey.Hash(), nowUs);
    }
    return limits;
  }

  /**
   * Limits the answers to queries: protocol.md 13.5.3. Anybody can send queries that name no
   * session, so queries that name one of the table, by its 64 random bits, have a limit of their
   * own. Of the others, those that are more than the part of their network have another limit than
   * the rest.
   */
  static final class AnswerLimits {

    private static final int PER_SECOND = 1_000;

    /** The part of a network is this part of a limit. */
    private static final int NETWORK_PART = 16;

    private static final int NETWORK_BUCKETS = 1_024;

    private final RateLimiter known = new RateLimiter(PER_SECOND, PER_SECOND);
    private final RateLimiter ended = new RateLimiter(PER_SECOND, PER_SECOND);
    private final AddressRateLimiter networks;
    private final Sampled withinParts;
    private final Sampled beyondParts;

    AnswerLimits(SessionKey.Hash hash, long nowUs) {
      int part = PER_SECOND / NETWORK_PART;
      networks = new AddressRateLimiter(Scope.NETWORK, NETWORK_BUCKETS, part, part, hash);
      withinParts = new Sampled(PER_SECOND, PER_SECOND, nowUs);
      beyondParts = new Sampled(PER_SECOND, PER_SECOND, nowUs);
    }

    /** Whether to answer a query that names a session of the table. */
    boolean takeForSession(long nowUs) {
      return known.tryTake(nowUs);
    }

    /** Whether to answer a datagram of a session that has ended here. */
    boolean takeForEnded(long nowUs) {
      return ended.tryTake(nowUs);
    }

    /** Whether to answer a query that names no session of the table. */
    boolean takeForUnknown(InetSocketAddress remote, long nowUs) {
      boolean isWithinPart = networks.tryTake(remote, nowUs);
      return (isWithinPart ? withinParts : beyondParts).tryTake(nowUs);
    }
  }
}
