package io.kcp4j.netty;

import io.kcp4j.session.Session;

/** Fires the {@link KcpChannelEvent}s of a channel. Used by the channel's event loop. */
final class LivenessEvents {

  private final KcpChannel channel;
  private boolean isEstablished;
  private boolean isUnresponsive;

  LivenessEvents(KcpChannel channel) {
    this.channel = channel;
  }

  /** The session may have received something. Handlers may close the channel meanwhile. */
  void progressed() {
    Session session = channel.session().get();
    if (!isEstablished && session.hasPeerAnswered() && channel.isActive()) {
      isEstablished = true;
      fire(KcpChannelEvent.ESTABLISHED);
    }
    if (isUnresponsive && !session.isPeerUnresponsive() && channel.isActive()) {
      isUnresponsive = false;
      fire(KcpChannelEvent.RESPONSIVE);
    }
  }

  void unresponsive() {
    if (!isUnresponsive && channel.isActive()) {
      isUnresponsive = true;
      fire(KcpChannelEvent.UNRESPONSIVE);
    }
  }

  void sendRefused() {
    if (channel.isActive()) {
      fire(KcpChannelEvent.SEND_REFUSED);
    }
  }

  private void fire(KcpChannelEvent event) {
    channel.pipeline().fireUserEventTriggered(event);
  }
}
