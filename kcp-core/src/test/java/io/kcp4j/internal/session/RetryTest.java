package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.admission.StatelessRetry;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.extension.Parameters;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Retries, by which clients with the extension pass a server under pressure: protocol.md 13.6. */
class RetryTest {

  private static final long CLIENT_TOKEN = 0x1122_3344_5566_7788L;
  private static final int OFFER_BYTES = 23;
  private static final String RETRY_TO_CLIENT = "4b01" + "030800" + "8877665544332211" + "0b0800";

  private final VirtualHost client = new VirtualHost(1);
  private final MemoryBudget budget = new MemoryBudget(MemoryLimit.shared(1 << 26));
  private VirtualHost server = new VirtualHost(2, KeyRing.NONE, budget);

  @BeforeEach
  void pressServer() {
    client.token = CLIENT_TOKEN;
    server.token = 5;
    server.driver.table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    server.driver.table.unvalidatedLimit(2);
    for (int port = 100; port < 102; port++) {
      server.take(new VirtualHost(port), List.of(firstSegment()));
    }
    server.packets();
    assertEquals(2, server.driver.table.size());
  }

  private static ByteBuf firstSegment() {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, VirtualHost.CONV, Segment.PUSH, 0, 128, 1, 0, 0, 0);
    return push;
  }

  private List<ByteBuf> request() {
    client.open(server);
    client.write(10);
    return client.packets();
  }

  /** What the server sends at once when it receives these. */
  private List<ByteBuf> answer(List<ByteBuf> packets) {
    server.take(client, packets);
    return server.packets();
  }

  private static ByteBuf message(List<ByteBuf> packets) {
    assertEquals(1, packets.size());
    return VirtualHost.message(packets.get(0));
  }

  @Test
  void clientIsAskedToRetryAndThenValidated() {
    List<ByteBuf> first = request();
    List<ByteBuf> retry = answer(first);
    assertTrue(ByteBufUtil.hexDump(message(retry)).startsWith(RETRY_TO_CLIENT));
    assertTrue(retry.get(0).readableBytes() <= first.get(0).readableBytes());
    assertEquals(2, server.driver.table.size());

    client.take(server, retry);
    client.runTo(client.nowUs + 2_000);
    List<ByteBuf> second = client.packets();
    assertEquals(Segment.PUSH, Segment.cmd(second.get(0), 0));
    assertEquals(first.get(0).readableBytes(), second.get(0).readableBytes());
    int incarnation = Parameters.incarnation(CLIENT_TOKEN);
    assertEquals(
        Parameters.own(incarnation, client.session.kcp()),
        Parameters.read(VirtualHost.message(second.get(0)), ExtensionMessage.OFFER_BYTES),
        "that of the session, whatever its token");
    server.take(client, second);
    assertTrue(server.session.path().isValidated());
    assertEquals(10, server.received);
    assertEquals(1, server.count(KcpCounter.RETRIES_OUT));

    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    assertTrue(client.session.isExtensionEstablished());
  }

  @Test
  void trailingBytesDoNotHideTheOffer() {
    ByteBuf padded = Unpooled.wrappedBuffer(request().get(0), Unpooled.wrappedBuffer(new byte[3]));
    List<ByteBuf> retry = answer(List.of(padded));
    assertTrue(ByteBufUtil.hexDump(message(retry)).startsWith(RETRY_TO_CLIENT));
  }

  @Test
  void clientIsAdmittedThoughTheRetryIsLost() {
    answer(request());
    client.runTo(client.nowUs + 1_000_000);
    server.take(client, client.packets());
    assertEquals(10, server.received);
    assertFalse(server.session.path().isValidated());
  }

  @Test
  void retryThatDoesNotShowTheTokenOfTheClientIsIgnored() {
    ByteBuf retry = answer(request()).get(0);
    int token = retry.readableBytes() - message(List.of(retry)).readableBytes() + 5;
    retry.setByte(token, retry.getByte(token) ^ 1);
    client.take(server, List.of(retry));
    client.runTo(client.nowUs + 2_000);
    assertEquals(List.of(), client.packets());
  }

  @Test
  void retryIsNoAnswer() {
    client.take(server, answer(request()));
    assertFalse(client.session.hasPeerAnswered());
  }

  /** The round trip is longer than the timeout of the first segment. */
  @Test
  void clientThatIsAdmittedBeforeTheRetryArrivesHasTheExtension() {
    List<ByteBuf> first = request();
    List<ByteBuf> retry = answer(first);
    server.take(client, first);
    server.runTo(server.nowUs + 20_000);
    List<ByteBuf> answers = server.packets();
    client.take(server, retry);
    client.runTo(client.nowUs + 2_000);
    server.take(client, client.packets());
    client.take(server, answers);
    assertTrue(client.session.isExtensionEstablished());
    client.runTo(client.nowUs + 20_000);
    server.take(client, client.packets());
    assertTrue(server.session.isExtensionEstablished());
  }

  /** Each answers a copy of the first datagram. */
  @Test
  void secondRetryToTheFirstTokenIsIgnored() {
    ByteBuf retry = answer(request()).get(0);
    client.take(server, List.of(retry));
    client.runTo(client.nowUs + 2_000);
    List<ByteBuf> offered = client.packets();
    int lastByte = retry.readableBytes() - 1;
    client.take(server, List.of(retry.copy().setByte(lastByte, retry.getByte(lastByte) ^ 1)));
    server.take(client, offered);
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packets());
    assertTrue(client.session.isExtensionEstablished());
  }

  /** Has another server under pressure, with another secret, answer the packets of the client. */
  private List<ByteBuf> restartServer(List<ByteBuf> packets) {
    server = new VirtualHost(2, KeyRing.NONE, new MemoryBudget(MemoryLimit.shared(1 << 26)));
    server.nowUs = client.nowUs;
    pressServer();
    return answer(packets);
  }

  /** What the client sends when a retry has come: at once, or only when its timeout has passed. */
  private List<ByteBuf> retransmission(List<ByteBuf> retry, boolean isAtOnce) {
    client.take(server, retry);
    client.runTo(client.nowUs + 2_000);
    List<ByteBuf> packets = client.packets();
    assertEquals(isAtOnce, !packets.isEmpty());
    for (int passedMs = 0; packets.isEmpty() && passedMs < 2_000; passedMs++) {
      client.runTo(client.nowUs + 1_000);
      packets = client.packets();
    }
    return packets.subList(0, 1);
  }

  @Test
  void clientWhoseServerRestartsTwiceIsAdmittedWithTheThirdRetry() {
    List<ByteBuf> packets = retransmission(answer(request()), true);
    packets = retransmission(restartServer(packets), false);
    packets = retransmission(restartServer(packets), false);
    server.take(client, packets);
    assertTrue(server.session.path().isValidated());
    assertEquals(10, server.received);
    assertEquals(0, client.count(KcpCounter.RETRIES_REFUSED));
    server.runTo(server.nowUs + 20_000);
    client.take(server, server.packetsTo(client));
    assertTrue(client.session.isExtensionEstablished());
  }

  @Test
  void fourthRetryIsRefusedAndTheThirdTokenIsStillOffered() {
    List<ByteBuf> packets = retransmission(answer(request()), true);
    packets = retransmission(restartServer(packets), false);
    List<ByteBuf> third = restartServer(packets);
    long thirdToken = VirtualHost.message(third.get(0)).getLongLE(16);
    packets = retransmission(third, false);
    packets = retransmission(restartServer(packets), false);
    assertEquals(1, client.count(KcpCounter.RETRIES_REFUSED));
    assertEquals(thirdToken, VirtualHost.message(packets.get(0)).getLongLE(5));
  }

  /** The same retry arrives again and again, with the token that it shows. */
  @Test
  void retryThatIsRepeatedIsTakenOnce() {
    List<ByteBuf> retry = answer(request());
    client.take(server, retry);
    client.runTo(client.nowUs + 2_000);
    client.packets();
    client.take(server, retry);
    client.runTo(client.nowUs + 2_000);
    assertEquals(List.of(), client.packets());
    assertEquals(0, client.count(KcpCounter.RETRIES_REFUSED));
  }

  @Test
  void noRetryIsSentWhileNoSessionWouldBeAccepted() {
    server.driver.isAccepting = false;
    assertEquals(List.of(), answer(request()));
    assertEquals(1, server.count(KcpCounter.ACCEPT_REFUSED));
  }

  private void floodFromTheNetworkOfTheClient() {
    ByteBuf push = firstSegment();
    for (int conv = 100; conv < 400; conv++) {
      server.nowUs += 20_000;
      push.setIntLE(0, conv);
      server.take(client, List.of(push, push));
    }
    server.packets();
  }

  @Test
  void clientOfANetworkThatIsOverItsLimitIsAskedAgain() {
    floodFromTheNetworkOfTheClient();
    List<ByteBuf> first = request();
    for (int i = 1; i <= 3; i++) {
      server.take(client, first);
      assertEquals(i, server.count(KcpCounter.RETRIES_OUT));
    }
    client.take(server, List.of(server.packets().get(2)));
    client.runTo(client.nowUs + 2_000);
    server.take(client, client.packets());
    assertTrue(server.session.path().isValidated());
  }

  @Test
  void sessionThatIsAcceptedLaterReplacesTheOldestOfItsAddress() {
    server.driver.table.convsPerAddress(1);
    server.driver.trustsPeers = false;
    Session before = admit(7);
    server.driver.defersAccept = true;
    ByteBuf next = firstSegmentWithOffer(8, 1);
    server.take(client, List.of(next));
    long retryToken = VirtualHost.message(server.packets().get(0)).getLongLE(16);
    server.take(client, List.of(firstSegmentWithOffer(8, retryToken)));
    Incoming incoming = server.driver.deferred.get(0);
    assertTrue(incoming.isValidated());
    assertEquals(List.of(), server.ends);
    Session session = server.driver.newSession(incoming.remote(), incoming.conv());
    incoming.accept(session, server.nowUs);
    assertEquals(List.of(EndReason.SUPERSEDED), server.ends);
    assertFalse(server.driver.table.lifecycle().contains(before));
  }

  /** Begins a session of the client's address by a retry. */
  private Session admit(int conv) {
    server.take(client, List.of(firstSegmentWithOffer(conv, 1)));
    long retryToken = VirtualHost.message(server.packets().get(0)).getLongLE(16);
    server.take(client, List.of(firstSegmentWithOffer(conv, retryToken)));
    assertTrue(server.session.path().isValidated());
    return server.session;
  }

  private static ByteBuf firstSegmentWithOffer(int conv, long token) {
    ByteBuf datagram = firstSegment().setIntLE(0, conv);
    Segment.write(datagram, conv, Segment.WINS, 0, 128, 0, 0, 0, OFFER_BYTES);
    ExtensionMessage.writeHeader(datagram);
    ExtensionMessage.write(datagram, ExtensionMessage.OFFER, token);
    new Parameters(1, Parameters.code(Delivery.STREAM), 3).write(datagram);
    return datagram;
  }

  @Test
  void validatedClientDoesNotCountAsUnvalidated() {
    client.take(server, answer(request()));
    client.runTo(client.nowUs + 2_000);
    server.take(client, client.packets());
    assertEquals(3, server.driver.table.size());
    assertEquals(List.of(), server.ends);
  }

  @Test
  void noRetryIsSentWithoutPressure() {
    server.driver.table.unvalidatedLimit(100);
    server.take(client, request());
    assertEquals(10, server.received);
    assertEquals(0, server.count(KcpCounter.RETRIES_OUT));
  }

  @Test
  void serverWithoutTheExtensionSendsNoRetry() {
    server.driver.table.resetTokens(null);
    assertEquals(List.of(), answer(request()));
  }

  @Test
  void numberOfRetriesIsLimited() {
    ByteBuf first = request().get(0);
    requestOfConvs(first, 0, 50_000);
    assertTrue(server.count(KcpCounter.RETRIES_OUT) <= 10_000);
    server.nowUs += 500_000;
    requestOfConvs(first, 50_000, 100_000);
    assertTrue(server.count(KcpCounter.RETRIES_OUT) <= 15_000);
  }

  /** The first of each second were asked, and a flood is always first. */
  @Test
  void clientsThatAreAskedAreChosenAtRandom() {
    ByteBuf first = request().get(0);
    long asked = 0;
    for (int period = 0; period < 20; period++) {
      requestOfConvs(first, 0, 10_000);
      long before =
          server.count(KcpCounter.RETRIES_OUT) + server.count(KcpCounter.ADDRESS_CHALLENGES_OUT);
      requestOfConvs(first, 10_000, 10_010);
      asked +=
          server.count(KcpCounter.RETRIES_OUT) + server.count(KcpCounter.ADDRESS_CHALLENGES_OUT);
      asked -= before;
      server.nowUs += 100_000;
    }
    assertTrue(asked >= 20, asked + " of 200");
  }

  /** Has the server receive a first datagram with each conversation id of a range. */
  private void requestOfConvs(ByteBuf first, int from, int to) {
    for (int conv = from; conv < to; conv++) {
      first.setIntLE(first.readerIndex(), conv);
      first.setIntLE(first.readableBytes() - OFFER_BYTES - Segment.HEADER_BYTES, conv);
      server.take(client, List.of(first));
    }
  }

  // Challenges of clients without the extension

  /** Has a client without the extension send its first datagram as often as it takes. */
  private List<ByteBuf> challengeOfAFlood() {
    floodFromTheNetworkOfTheClient();
    client.token = 0;
    List<ByteBuf> first = request();
    assertEquals(List.of(), answer(first), "only clients that repeat it are challenged");
    List<ByteBuf> challenge = answer(first);
    assertEquals(1, challenge.size());
    assertTrue(challenge.get(0).readableBytes() <= first.get(0).readableBytes());
    return challenge;
  }

  private List<ByteBuf> answerOfTheClient(List<ByteBuf> challenge) {
    client.take(server, challenge);
    client.runTo(client.nowUs + 20_000);
    return client.packets().stream().filter(p -> Segment.cmd(p, 0) == Segment.ACK).toList();
  }

  @Test
  void clientWithoutTheExtensionIsChallengedAndThenValidated() {
    List<ByteBuf> acks = answerOfTheClient(challengeOfAFlood());
    assertEquals(1, acks.size());
    long unknown = server.count(KcpCounter.UNKNOWN_SESSION);
    server.take(client, acks);
    assertEquals(unknown, server.count(KcpCounter.UNKNOWN_SESSION));
    client.runTo(client.nowUs + 500_000);
    server.take(client, client.packets());
    assertEquals(10, server.received);
    assertTrue(server.session.path().isValidated());
    assertTrue(server.count(KcpCounter.ADDRESS_CHALLENGES_OUT) > 0);
  }

  /** It has to answer once only: it was refused, and then challenged again. */
  @Test
  void clientThatHasAnsweredIsAdmittedThoughTheMemoryOfOthersIsUsedUp() {
    server.take(client, answerOfTheClient(challengeOfAFlood()));
    assertTrue(budget.tryReserveUnvalidated((int) budget.unvalidatedRoomBytes()));
    client.runTo(client.nowUs + 500_000);
    server.take(client, client.packets());
    assertEquals(10, server.received);
    assertTrue(server.session.path().isValidated());
  }

  @Test
  void acknowledgementOfNoChallengeAdmitsNobody() {
    List<ByteBuf> acks = answerOfTheClient(challengeOfAFlood());
    int ts = Segment.ts(acks.get(0), 0);
    server.take(client, List.of(acks.get(0).setIntLE(8, ts ^ 1)));
    assertFalse(server.driver.accepted.stream().anyMatch(s -> s.path().isValidated()));
    client.runTo(client.nowUs + 500_000);
    server.take(client, client.packets());
    assertFalse(server.driver.accepted.stream().anyMatch(s -> s.path().isValidated()));
  }

  @Test
  void answerOfAChallengeAdmitsOnceAndForAShortTime() {
    StatelessRetry.AnsweredChallenges answered = new StatelessRetry.AnsweredChallenges();
    SessionKey key = new SessionKey(new InetSocketAddress(NetUtil.LOCALHOST4, 1), 7);
    SessionKey other = new SessionKey(new InetSocketAddress(NetUtil.LOCALHOST4, 1), 8);
    assertFalse(answered.remove(key, 0));
    answered.add(key, 0);
    assertFalse(answered.remove(other, 0));
    assertTrue(answered.remove(key, 15_999_999));
    assertFalse(answered.remove(key, 15_999_999));
    answered.add(key, 0);
    assertFalse(answered.remove(key, 16_000_000));
  }

  @Test
  void timestampIsValidForItsClientAndForAShortTime() {
    StatelessRetry.RetryTokens tokens = new StatelessRetry.RetryTokens();
    SessionKey key = new SessionKey(new InetSocketAddress(NetUtil.LOCALHOST4, 1), 7);
    int ts = tokens.timestamp(key, 0);
    assertTrue(tokens.isTimestamp(key, ts, 15_999_999));
    assertFalse(tokens.isTimestamp(key, ts, 16_000_000));
    assertFalse(tokens.isTimestamp(key, ts ^ 1, 0));
  }

  @Test
  void tokenIsValidForItsClientAndForAShortTime() {
    StatelessRetry.RetryTokens tokens = new StatelessRetry.RetryTokens();
    InetSocketAddress remote = new InetSocketAddress(NetUtil.LOCALHOST4, 1);
    SessionKey key = new SessionKey(remote, 7);
    long token = tokens.of(key, 0, 0);
    assertTrue(tokens.isValid(key, 0, token, 0));
    assertTrue(tokens.isValid(key, 0, token, 15_999_999));
    assertFalse(tokens.isValid(key, 0, token, 16_000_000));
    assertFalse(tokens.isValid(key, 0, token, -1));
    assertFalse(tokens.isValid(new SessionKey(remote, 8), 0, token, 0));
    InetSocketAddress otherPort = new InetSocketAddress(NetUtil.LOCALHOST4, 2);
    assertFalse(tokens.isValid(new SessionKey(otherPort, 7), 0, token, 0));
    InetSocketAddress otherHost = new InetSocketAddress("127.0.0.2", 1);
    assertFalse(tokens.isValid(new SessionKey(otherHost, 7), 0, token, 0));
    assertFalse(tokens.isValid(key, 1, token, 0), "of another predecessor");
    assertFalse(new StatelessRetry.RetryTokens().isValid(key, 0, token, 0));
  }
}
