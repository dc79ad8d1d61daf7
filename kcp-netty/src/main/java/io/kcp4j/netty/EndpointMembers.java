package io.kcp4j.netty;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.util.HashSet;
import java.util.Set;

/** The channels that keep an endpoint's socket open. Used by the endpoint's event loop. */
final class EndpointMembers {

  private final KcpEndpoint endpoint;
  private final KcpEndpoint.Owner owner;
  private final Set<Channel> members = new HashSet<>();

  EndpointMembers(KcpEndpoint endpoint, KcpEndpoint.Owner owner) {
    this.endpoint = endpoint;
    this.owner = owner;
  }

  void join(Channel member) {
    if (members.isEmpty()) {
      owner.onFirstMember();
    }
    members.add(member);
  }

  void leave(Channel member) {
    if (members.remove(member) && members.isEmpty()) {
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
