package io.kcp4j.netty;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.util.HashSet;
import java.util.Set;

/**
 * What keeps an endpoint's socket open: channels, and sessions that are closing and whose channels
 * have closed. Used by the endpoint's event loop.
 */
final class EndpointMembers {

  private final KcpEndpoint endpoint;
  private final KcpEndpoint.Owner owner;
  private final Set<Channel> members = new HashSet<>();
  private int closingSessions;

  EndpointMembers(KcpEndpoint endpoint, KcpEndpoint.Owner owner) {
    this.endpoint = endpoint;
    this.owner = owner;
  }

  void join(Channel member) {
    if (isEmpty()) {
      owner.onFirstMember();
    }
    members.add(member);
  }

  private boolean isEmpty() {
    return members.isEmpty() && closingSessions == 0;
  }

  void leave(Channel member) {
    if (members.remove(member)) {
      closeIfEmpty();
    }
  }

  /** The session of a member stays when the member leaves. */
  void closingSession() {
    closingSessions++;
  }

  /** Such a session has gone. */
  void sessionClosed() {
    closingSessions--;
    closeIfEmpty();
  }

  private void closeIfEmpty() {
    if (isEmpty()) {
      owner.onLastMemberLeft(endpoint);
    }
  }

  /** The socket has closed: closes the members. */
  void closeAll() {
    CloseActions.runAll(
        members.stream().map(member -> (Runnable) () -> close(member)).toArray(Runnable[]::new));
  }

  private void close(Channel member) {
    EventLoop eventLoop = endpoint.eventLoop();
    if (member.eventLoop() == eventLoop) {
      member.unsafe().close(member.unsafe().voidPromise());
    } else {
      member.close();
      leave(member);
    }
  }
}
