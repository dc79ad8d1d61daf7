/** Which of several streams sends next, and how often something may happen. */
package io.kcp4j.internal.scheduling;
