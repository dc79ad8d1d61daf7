package io.kcp4j.session;

import io.netty.buffer.ByteBuf;

/**
 * The offer of the extension in the first datagram of a client.
 *
 * @param token what messages to the client have to show
 * @param datagramBytes the size of the datagram, without the headers of cipher and FEC: no answer
 *     may be larger
 */
record FirstOffer(long token, int datagramBytes) {

  /** Reads the offer in segments of which nothing has been validated; null if there is none. */
  static FirstOffer read(ByteBuf segments) {
    int offer = ExtensionMessage.findInSegments(segments, ExtensionMessage.OFFER);
    return offer == ExtensionMessage.NONE
        ? null
        : new FirstOffer(ExtensionMessage.longValue(segments, offer), segments.readableBytes());
  }
}
