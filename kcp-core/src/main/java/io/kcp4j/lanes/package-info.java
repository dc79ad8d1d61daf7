/**
 * The settings of lanes: independent streams of messages on one session, of which none waits for
 * another. Both peers need kcp4j's extension: protocol.md 15.
 */
package io.kcp4j.lanes;
